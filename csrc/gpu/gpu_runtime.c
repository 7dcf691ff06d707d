#include "gpu/gpu_runtime.h"

#include <dlfcn.h>
#include <string.h>

typedef enum api { CUDA_RUNTIME, CUDA_DRIVER, HIP_RUNTIME } api;

typedef struct wanted {
    size_t offset;        /* offset in fd_gpu_runtime */
    const char *names[3]; /* name in each API; NULL: not available, optional */
} wanted;

#define PLACE(field) offsetof(fd_gpu_runtime, field)

static const wanted functions[] = {
    {PLACE(event_create),
     {"cudaEventCreateWithFlags", "cuEventCreate", "hipEventCreateWithFlags"}},
    {PLACE(event_record),
     {"cudaEventRecord", "cuEventRecord", "hipEventRecord"}},
    {PLACE(event_query), {"cudaEventQuery", "cuEventQuery", "hipEventQuery"}},
    {PLACE(event_elapsed),
     {"cudaEventElapsedTime", "cuEventElapsedTime", "hipEventElapsedTime"}},
    {PLACE(event_destroy),
     {"cudaEventDestroy", "cuEventDestroy_v2", "hipEventDestroy"}},
    {PLACE(stream_create),
     {"cudaStreamCreateWithFlags", "cuStreamCreate",
      "hipStreamCreateWithFlags"}},
    {PLACE(stream_destroy),
     {"cudaStreamDestroy", "cuStreamDestroy_v2", "hipStreamDestroy"}},
    {PLACE(stream_query),
     {"cudaStreamQuery", "cuStreamQuery", "hipStreamQuery"}},
    {PLACE(stream_is_capturing),
     {"cudaStreamIsCapturing", "cuStreamIsCapturing", "hipStreamIsCapturing"}},
    {PLACE(get_device), {"cudaGetDevice", "cuCtxGetDevice", "hipGetDevice"}},
    {PLACE(exchange_capture_mode),
     {"cudaThreadExchangeStreamCaptureMode",
      "cuThreadExchangeStreamCaptureMode",
      "hipThreadExchangeStreamCaptureMode"}},
    {PLACE(peek_error), {"cudaPeekAtLastError", NULL, "hipPeekAtLastError"}},
    {PLACE(last_error), {"cudaGetLastError", NULL, "hipGetLastError"}},
};

/* The order matters: a HIP program may have loaded the CUDA driver, but not
 * the CUDA runtime. */
static const struct {
    const char *name;
    api kind;
} libraries[] = {
    {"libcudart.so.13", CUDA_RUNTIME},   {"libcudart.so.12", CUDA_RUNTIME},
    {"libcudart.so.11.0", CUDA_RUNTIME}, {"libcudart.so", CUDA_RUNTIME},
    {"libamdhip64.so.7", HIP_RUNTIME},   {"libamdhip64.so.6", HIP_RUNTIME},
    {"libamdhip64.so.5", HIP_RUNTIME},   {"libamdhip64.so", HIP_RUNTIME},
    {"libcuda.so.1", CUDA_DRIVER},
};

static fd_status
look_up(fd_gpu_runtime *runtime, void *library, const char *name, api kind,
        fd_error *error)
{
    *runtime = (fd_gpu_runtime){
        .library = name, .prefix = kind == HIP_RUNTIME ? "hip" : "cuda"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *symbol = functions[i].names[kind];
        void *address = symbol == NULL ? NULL : dlsym(library, symbol);
        if (symbol != NULL && address == NULL) {
            return fd_fail(error, FD_EINVAL, "%s has no %s", name, symbol);
        }
        memcpy((char *)runtime + functions[i].offset, &address,
               sizeof address);
    }
    return FD_OK;
}

fd_status
fd_gpu_runtime_find(fd_gpu_runtime *runtime, fd_error *error)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const char *name = libraries[i].name;
        void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            fd_status status =
                look_up(runtime, library, name, libraries[i].kind, error);
            /* It stays loaded, because the program has opened it. */
            dlclose(library);
            return status;
        }
    }
    return fd_fail(error, FD_EINVAL, "no CUDA or HIP runtime is loaded");
}

bool
fd_gpu_stream_is_idle(const fd_gpu_runtime *runtime, void *stream)
{
    int captured = 0;
    int mode = FD_GPU_CAPTURE_RELAXED;
    if (!fd_gpu_is_clean(runtime)) {
        return false;
    }
    fd_gpu_result(runtime, runtime->exchange_capture_mode(&mode));
    int result = runtime->stream_is_capturing(stream, &captured);
    if (result == FD_GPU_SUCCESS && captured == 0) {
        result = runtime->stream_query(stream);
    }
    fd_gpu_result(runtime, result);
    fd_gpu_result(runtime, runtime->exchange_capture_mode(&mode));
    return result == FD_GPU_SUCCESS && captured == 0;
}
