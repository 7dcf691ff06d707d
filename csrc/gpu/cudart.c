#include "gpu/cudart.h"

#include <dlfcn.h>
#include <string.h>

typedef struct wanted {
    size_t place; /* in fd_cudart */
    const char *runtime;
    const char *driver; /* name in the driver; NULL: missing there, optional */
} wanted;

#define PLACE(field) offsetof(fd_cudart, field)

static const wanted functions[] = {
    {PLACE(event_create), "cudaEventCreateWithFlags", "cuEventCreate"},
    {PLACE(event_record), "cudaEventRecord", "cuEventRecord"},
    {PLACE(event_query), "cudaEventQuery", "cuEventQuery"},
    {PLACE(event_elapsed), "cudaEventElapsedTime", "cuEventElapsedTime"},
    {PLACE(event_destroy), "cudaEventDestroy", "cuEventDestroy_v2"},
    {PLACE(stream_create), "cudaStreamCreateWithFlags", "cuStreamCreate"},
    {PLACE(stream_destroy), "cudaStreamDestroy", "cuStreamDestroy_v2"},
    {PLACE(stream_is_capturing), "cudaStreamIsCapturing",
     "cuStreamIsCapturing"},
    {PLACE(get_device), "cudaGetDevice", "cuCtxGetDevice"},
    {PLACE(exchange_capture_mode), "cudaThreadExchangeStreamCaptureMode",
     "cuThreadExchangeStreamCaptureMode"},
    {PLACE(peek_error), "cudaPeekAtLastError", NULL},
    {PLACE(last_error), "cudaGetLastError", NULL},
};

static fd_status
look_up(fd_cudart *cuda, void *library, const char *name, bool driver,
        fd_error *error)
{
    *cuda = (fd_cudart){.library = name};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *symbol =
            driver ? functions[i].driver : functions[i].runtime;
        void *address = symbol == NULL ? NULL : dlsym(library, symbol);
        if (symbol != NULL && address == NULL) {
            return fd_fail(error, FD_EINVAL, "%s has no %s", name, symbol);
        }
        memcpy((char *)cuda + functions[i].place, &address, sizeof address);
    }
    return FD_OK;
}

fd_status
fd_cudart_find(fd_cudart *cuda, fd_error *error)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12",
                                        "libcudart.so.11.0", "libcudart.so",
                                        "libcuda.so.1"};
    enum { COUNT = sizeof names / sizeof *names };
    for (int i = 0; i < COUNT; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            fd_status status =
                look_up(cuda, library, names[i], i == COUNT - 1, error);
            dlclose(library); /* stays loaded: the program has opened it */
            return status;
        }
    }
    return fd_fail(error, FD_EINVAL, "no CUDA runtime is loaded");
}
