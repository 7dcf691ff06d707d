#include "capture/torch/current_stream.h"

#include "capture/process/guard.h"

#include <dlfcn.h>
#include <string.h>

/* PyTorch for ROCm renamed its namespace and classes before 2.11; its device
 * type is CUDA in all versions. */
static const struct {
    const char *library;
    const char *current;
    const char *handle;
} builds[] = {
    {"libc10_cuda.so", "_ZN3c104cuda20getCurrentCUDAStreamEa",
     "_ZNK3c104cuda10CUDAStream6streamEv"},
    {"libc10_hip.so", "_ZN3c104cuda20getCurrentCUDAStreamEa",
     "_ZNK3c104cuda10CUDAStream6streamEv"},
    {"libc10_hip.so", "_ZN3c103hip19getCurrentHIPStreamEa",
     "_ZNK3c103hip9HIPStream6streamEv"},
};

static bool
find_symbols(fd_current_stream *stream)
{
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        void *library = dlopen(builds[i].library, RTLD_LAZY | RTLD_NOLOAD);
        if (library == NULL) {
            continue;
        }
        void *current = dlsym(library, builds[i].current);
        void *handle = dlsym(library, builds[i].handle);
        /* It stays loaded, because the program has opened it. */
        dlclose(library);
        if (current != NULL && handle != NULL) {
            memcpy(&stream->current, &current, sizeof current);
            memcpy(&stream->handle, &handle, sizeof handle);
            return true;
        }
    }
    return false;
}

bool
fd_current_stream_find(fd_current_stream *stream)
{
    if (stream->current != NULL || stream->function != NULL
        || find_symbols(stream)) {
        return true;
    }
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *torch =
        modules == NULL ? NULL : PyDict_GetItemString(modules, "torch._C");
    if (torch != NULL) {
        stream->function =
            PyObject_GetAttrString(torch, "_cuda_getCurrentRawStream");
    }
    PyErr_Clear();
    return stream->function != NULL;
}

void
fd_current_stream_clear(fd_current_stream *stream)
{
    Py_CLEAR(stream->function);
}

static bool
stream_from_python(PyObject *function, int device, void **handle)
{
    fd_guard guard = fd_guard_enter(fd_thread_self);
    PyObject *argument = PyLong_FromLong(device);
    PyObject *arguments[] = {NULL, argument};
    PyObject *result =
        argument == NULL
            ? NULL
            : PyObject_Vectorcall(function, &arguments[1],
                                  1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    *handle = result == NULL ? NULL : PyLong_AsVoidPtr(result);
    bool known = result != NULL && PyErr_Occurred() == NULL;
    PyErr_Clear();
    Py_XDECREF(result);
    Py_XDECREF(argument);
    fd_guard_leave(&guard);
    return known;
}

bool
fd_current_stream_get(const fd_current_stream *stream, int device,
                      fd_stream_memory *memory, void **handle)
{
    if (stream->current != NULL) {
        fd_c10_stream current = stream->current((signed char)device);
        *handle = stream->handle(&current);
        return true;
    }
    if (PyGILState_Check()) {
        memory->known = stream_from_python(stream->function, device, handle);
        memory->handle = *handle;
        memory->device = device;
        return memory->known;
    }
    *handle = memory->handle;
    return memory->known && memory->device == device;
}
