/* fastdispatch._core.Folder: an open run directory. The implementation is in
 * base/folder.h and recording/recording_names.h. */
#include "module/recording/folder_type.h"

#include "base/buffer.h"
#include "base/lock.h"
#include "base/new_file.h"
#include "module/errors.h"
#include "module/state.h"
#include "recording/recording_names.h"

#include <fcntl.h>
#include <unistd.h>

typedef struct folder_object {
    PyObject_HEAD fd_folder folder;
    int lock;  /* descriptor of the lock file; -1: not locked */
    pid_t pid; /* process that locked it: a forked child shares the lock */
} folder_object;

/* Return the folder, reopened if the program has closed its descriptor. Return
 * NULL with an exception if that fails. */
static fd_folder *
folder_of(PyObject *self)
{
    fd_folder *folder = &((folder_object *)self)->folder;
    if (!fd_folder_check(folder)) {
        fd_error error;
        fd_fail(&error, FD_EIO, "%s: the directory is not there any more",
                folder->path);
        fd_raise(fd_module_of(self), FD_EIO, &error);
        return NULL;
    }
    return folder;
}

const fd_folder *
fd_folder_in(PyObject *module, PyObject *object)
{
    PyTypeObject *type = fd_module_state_of(module)->folder;
    if (!PyObject_TypeCheck(object, type)) {
        PyErr_Format(PyExc_TypeError, "folder: a Folder, not %s",
                     Py_TYPE(object)->tp_name);
        return NULL;
    }
    return folder_of(object);
}

static PyObject *
folder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "make", NULL};
    PyObject *path = NULL;
    int make = 0;
    fd_error error = {""};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$p:Folder", names,
                                     PyUnicode_FSConverter, &path, &make)) {
        return NULL;
    }
    folder_object *self = (folder_object *)type->tp_alloc(type, 0);
    fd_status status = FD_ENOMEM;
    if (self != NULL) {
        self->lock = -1;
        status = fd_folder_open(&self->folder, PyBytes_AS_STRING(path),
                                make != 0, &error);
    }
    Py_DECREF(path);
    return fd_new_or_raise(type, self, status, &error);
}

static void
unlock_folder(folder_object *self)
{
    if (self->lock >= 0) {
        if (self->pid == getpid()) {
            fd_lock_release(self->lock);
        }
        close(self->lock);
        self->lock = -1;
    }
}

static void
folder_dealloc(PyObject *self)
{
    unlock_folder((folder_object *)self);
    fd_folder_close(&((folder_object *)self)->folder);
    fd_object_free(self);
}

/* Encode a name for the file system. Return NULL with an exception on
 * failure. */
static PyObject *
name_in(PyObject *object)
{
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(object, &bytes) ? bytes : NULL;
}

/* Return the content of a file, or None if it does not exist. */
static PyObject *
content_of(const fd_folder *folder, const char *name, Py_ssize_t most,
           fd_status *status, fd_error *error)
{
    int fd;
    *status = fd_folder_file(folder, name, O_RDONLY, &fd, error);
    if (fd < 0) {
        return *status == FD_OK ? Py_NewRef(Py_None) : NULL;
    }
    struct stat info;
    Py_ssize_t size = fstat(fd, &info) == 0 && info.st_size < most
                        ? (Py_ssize_t)info.st_size
                        : most;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    if (bytes != NULL) {
        Py_ssize_t got = (Py_ssize_t)fd_read_at(fd, PyBytes_AS_STRING(bytes),
                                                (size_t)size, 0);
        _PyBytes_Resize(&bytes, got);
    }
    close(fd);
    return bytes;
}

static PyObject *
folder_read(PyObject *self, PyObject *args)
{
    PyObject *name;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "O&n:read", PyUnicode_FSConverter, &name,
                          &most)) {
        return NULL;
    }
    const fd_folder *folder = folder_of(self);
    fd_status status = FD_OK;
    fd_error error = {""};
    PyObject *content = folder == NULL
                          ? NULL
                          : content_of(folder, PyBytes_AS_STRING(name), most,
                                       &status, &error);
    Py_DECREF(name);
    return status != FD_OK ? fd_raise(fd_module_of(self), status, &error)
                           : content;
}

static fd_status
write_all(fd_new_file *file, fd_status opened, const Py_buffer *content,
          fd_error *error)
{
    if (opened != FD_OK) {
        return opened;
    }
    fd_status status =
        fd_new_file_write(file, content->buf, (size_t)content->len, error);
    if (status != FD_OK) {
        fd_new_file_drop(file);
        return status;
    }
    return fd_new_file_keep(file, error);
}

static PyObject *
folder_write(PyObject *self, PyObject *args)
{
    PyObject *name;
    Py_buffer content;
    fd_new_file file;
    fd_error error = {""};
    if (!PyArg_ParseTuple(args, "O&y*:write", PyUnicode_FSConverter, &name,
                          &content)) {
        return NULL;
    }
    const fd_folder *folder = folder_of(self);
    fd_status status = FD_OK;
    if (folder != NULL) {
        Py_BEGIN_ALLOW_THREADS
            status = fd_new_file_open_in(&file, folder,
                                         PyBytes_AS_STRING(name), &error);
            status = write_all(&file, status, &content, &error);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&content);
    Py_DECREF(name);
    return folder == NULL
             ? NULL
             : fd_none_or_raise(fd_module_of(self), status, &error);
}

static PyObject *
folder_remove(PyObject *self, PyObject *argument)
{
    PyObject *name = name_in(argument);
    const fd_folder *folder = name != NULL ? folder_of(self) : NULL;
    if (folder != NULL && fd_folder_is_name(PyBytes_AS_STRING(name))) {
        fd_folder_remove(folder, PyBytes_AS_STRING(name));
    }
    Py_XDECREF(name);
    return folder != NULL ? Py_NewRef(Py_None) : NULL;
}

static PyObject *
writer_object(fd_writer writer)
{
    static const char *const names[] = {[FD_WRITER_GONE] = "gone",
                                        [FD_WRITER_LIVES] = "live",
                                        [FD_WRITER_UNKNOWN] = "unknown"};
    return writer == FD_WRITER_NONE ? Py_NewRef(Py_None)
                                    : PyUnicode_FromString(names[writer]);
}

static PyObject *
folder_writer(PyObject *self, PyObject *argument)
{
    fd_writer writer;
    fd_error error = {""};
    PyObject *name = name_in(argument);
    const fd_folder *folder = name != NULL ? folder_of(self) : NULL;
    fd_status status = folder != NULL ? fd_recording_lookup(
                           folder, PyBytes_AS_STRING(name), &writer, &error)
                                      : FD_OK;
    Py_XDECREF(name);
    return folder == NULL  ? NULL
         : status != FD_OK ? fd_raise(fd_module_of(self), status, &error)
                           : writer_object(writer);
}

static PyObject *
folder_move(PyObject *self, PyObject *args)
{
    PyObject *name;
    PyObject *other;
    PyObject *target;
    fd_error error = {""};
    if (!PyArg_ParseTuple(args, "O&OO&:move", PyUnicode_FSConverter, &name,
                          &other, PyUnicode_FSConverter, &target)) {
        return NULL;
    }
    const fd_folder *folder = folder_of(self);
    const fd_folder *to =
        folder != NULL ? fd_folder_in(fd_module_of(self), other) : NULL;
    fd_status status = FD_OK;
    if (to != NULL) {
        Py_BEGIN_ALLOW_THREADS
            status = fd_recording_move(folder, PyBytes_AS_STRING(name), to,
                                       PyBytes_AS_STRING(target), &error);
        Py_END_ALLOW_THREADS
    }
    Py_DECREF(name);
    Py_DECREF(target);
    return to == NULL ? NULL
                      : fd_none_or_raise(fd_module_of(self), status, &error);
}

/* Open the lock file; create it if it does not exist. It is never written. */
static fd_status
open_lock(const fd_folder *folder, const char *name, int *fd, fd_error *error)
{
    fd_status status = FD_OK;
    *fd = -1;
    for (int i = 0; i < 3 && status == FD_OK && *fd < 0; i++) {
        status = fd_folder_file(folder, name, O_RDWR, fd, error);
        if (status == FD_OK && *fd < 0) {
            status = fd_folder_create(folder, name, true, fd, error);
            status = status == FD_ECONFLICT ? FD_OK : status;
        }
    }
    *fd = fd_high(*fd);
    return status == FD_OK && *fd < 0
             ? fd_folder_fail(folder, name, FD_EIO, error, "it comes and goes")
             : status;
}

static PyObject *
folder_lock(PyObject *self, PyObject *argument)
{
    folder_object *object = (folder_object *)self;
    fd_error error = {""};
    PyObject *name = name_in(argument);
    const fd_folder *folder = name != NULL ? folder_of(self) : NULL;
    fd_status status = FD_OK;
    unlock_folder(object);
    object->pid = getpid();
    if (folder != NULL) {
        status =
            open_lock(folder, PyBytes_AS_STRING(name), &object->lock, &error);
    }
    Py_XDECREF(name);
    if (folder == NULL || status != FD_OK) {
        return folder == NULL ? NULL
                              : fd_raise(fd_module_of(self), status, &error);
    }
    if (fd_lock_take(object->lock) == FD_LOCK_HELD) {
        unlock_folder(object);
        Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE; /* also true if the file system does not support locks */
}

static PyObject *
folder_unlock(PyObject *self, PyObject *unused)
{
    (void)unused;
    unlock_folder((folder_object *)self);
    Py_RETURN_NONE;
}

static PyObject *
folder_get_path(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_DecodeFSDefault(((folder_object *)self)->folder.path);
}

static PyMethodDef methods[] = {
    {"read", folder_read, METH_VARARGS,
     PyDoc_STR("read($self, name, most, /)\n--\n\n"
               "The first bytes of a file; None if it does not exist.")},
    {"write", folder_write, METH_VARARGS,
     PyDoc_STR("write($self, name, content, /)\n--\n\n"
               "Write a file atomically.")},
    {"remove", folder_remove, METH_O,
     PyDoc_STR("remove($self, name, /)\n--\n\nRemove a file.")},
    {"writer", folder_writer, METH_O,
     PyDoc_STR("writer($self, name, /)\n--\n\n"
               "'live', 'gone', 'unknown'; None where nothing is recorded.")},
    {"move", folder_move, METH_VARARGS,
     PyDoc_STR("move($self, name, folder, target, /)\n--\n\n"
               "Move a finished recording.")},
    {"lock", folder_lock, METH_O,
     PyDoc_STR("lock($self, name, /)\n--\n\n"
               "Take the lock of this name, or return False at once.")},
    {"unlock", folder_unlock, METH_NOARGS,
     PyDoc_STR("unlock($self, /)\n--\n\nRelease the lock.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"path", folder_get_path, NULL, PyDoc_STR("The path as given."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Folder(path, *, make=False)\n--\n\n"
                "A run directory held open."},
    {Py_tp_new, folder_new},
    {Py_tp_dealloc, folder_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

PyType_Spec fd_folder_spec = FD_TYPE("Folder", folder_object, slots);

PyObject *
fd_writer_py(PyObject *module, PyObject *argument)
{
    (void)module;
    PyObject *path = name_in(argument);
    int fd;
    struct stat info;
    fd_header header;
    fd_writer writer = FD_WRITER_NONE;
    if (path == NULL) {
        return NULL;
    }
    if (fd_open_to_read(PyBytes_AS_STRING(path), &fd, &info, NULL) == FD_OK) {
        writer = fd_writer_of(fd, &header);
        close(fd);
    }
    Py_DECREF(path);
    return writer_object(writer);
}

/* Write the next part of the content. Return false after the last one, or with
 * a status or an exception on failure. */
static bool
write_part(fd_new_file *file, PyObject *parts, fd_status *status,
           fd_error *error)
{
    Py_buffer content;
    PyObject *part = PyIter_Next(parts);
    if (part == NULL || PyObject_GetBuffer(part, &content, PyBUF_SIMPLE) < 0) {
        Py_XDECREF(part);
        return false;
    }
    Py_BEGIN_ALLOW_THREADS
        *status =
            fd_new_file_write(file, content.buf, (size_t)content.len, error);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&content);
    Py_DECREF(part);
    return *status == FD_OK;
}

static fd_status
save_parts(const char *path, PyObject *parts, fd_error *error)
{
    fd_new_file file;
    fd_status status = fd_new_file_open(&file, path, error);
    if (status != FD_OK) {
        return status;
    }
    while (write_part(&file, parts, &status, error)) {
    }
    if (status != FD_OK || PyErr_Occurred() != NULL) {
        fd_new_file_drop(&file);
        return status;
    }
    return fd_new_file_keep(&file, error);
}

PyObject *
fd_save_py(PyObject *module, PyObject *args)
{
    PyObject *path;
    PyObject *content;
    fd_error error = {""};
    if (!PyArg_ParseTuple(args, "O&O:save", PyUnicode_FSConverter, &path,
                          &content)) {
        return NULL;
    }
    PyObject *parts = PyObject_GetIter(content);
    fd_status status = parts == NULL
                         ? FD_OK
                         : save_parts(PyBytes_AS_STRING(path), parts, &error);
    Py_XDECREF(parts);
    Py_DECREF(path);
    return PyErr_Occurred() != NULL ? NULL
                                    : fd_none_or_raise(module, status, &error);
}
