#include "recording/gpu_format.h"

typedef struct launch_function {
    uint16_t domain;
    uint16_t number;
    const char *name;
} launch_function;

/* Both forms: for the default stream of the process, and of the thread. A
 * launch by the runtime calls the driver with the same correlation id, so
 * kernels need the driver's functions only. Copies and fills by the runtime
 * need not call those of the driver, which programs call, too. */
#define BOTH(domain, plain, thread, name) \
    {domain, plain, name}, \
    { \
        domain, thread, name \
    }

static const launch_function functions[] = {
    BOTH(FD_CUDA_DRIVER, 307, 442, "cuLaunchKernel"),
    BOTH(FD_CUDA_DRIVER, 477, 478, "cuLaunchCooperativeKernel"),
    BOTH(FD_CUDA_DRIVER, 652, 653, "cuLaunchKernelEx"),
    BOTH(FD_CUDA_RUNTIME, 311, 312, "cudaGraphLaunch"),
    BOTH(FD_CUDA_RUNTIME, 31, 215, "cudaMemcpy"),
    BOTH(FD_CUDA_RUNTIME, 32, 216, "cudaMemcpy2D"),
    BOTH(FD_CUDA_RUNTIME, 39, 223, "cudaMemcpyToSymbol"),
    BOTH(FD_CUDA_RUNTIME, 40, 224, "cudaMemcpyFromSymbol"),
    BOTH(FD_CUDA_RUNTIME, 41, 225, "cudaMemcpyAsync"),
    BOTH(FD_CUDA_RUNTIME, 44, 228, "cudaMemcpy2DAsync"),
    BOTH(FD_CUDA_RUNTIME, 47, 231, "cudaMemcpyToSymbolAsync"),
    BOTH(FD_CUDA_RUNTIME, 48, 232, "cudaMemcpyFromSymbolAsync"),
    BOTH(FD_CUDA_RUNTIME, 145, 246, "cudaMemcpy3DAsync"),
    BOTH(FD_CUDA_RUNTIME, 163, 250, "cudaMemcpy3DPeerAsync"),
    {FD_CUDA_RUNTIME, 160, "cudaMemcpyPeer"},
    {FD_CUDA_RUNTIME, 161, "cudaMemcpyPeerAsync"},
    BOTH(FD_CUDA_RUNTIME, 49, 233, "cudaMemset"),
    BOTH(FD_CUDA_RUNTIME, 51, 235, "cudaMemsetAsync"),
    BOTH(FD_CUDA_RUNTIME, 52, 236, "cudaMemset2DAsync"),
    BOTH(FD_CUDA_DRIVER, 305, 408, "cuMemcpy"),
    BOTH(FD_CUDA_DRIVER, 306, 418, "cuMemcpyAsync"),
    BOTH(FD_CUDA_DRIVER, 276, 397, "cuMemcpyHtoD"),
    BOTH(FD_CUDA_DRIVER, 277, 421, "cuMemcpyHtoDAsync"),
    BOTH(FD_CUDA_DRIVER, 278, 398, "cuMemcpyDtoH"),
    BOTH(FD_CUDA_DRIVER, 279, 422, "cuMemcpyDtoHAsync"),
    BOTH(FD_CUDA_DRIVER, 280, 399, "cuMemcpyDtoD"),
    BOTH(FD_CUDA_DRIVER, 281, 423, "cuMemcpyDtoDAsync"),
    BOTH(FD_CUDA_DRIVER, 289, 424, "cuMemcpy2DAsync"),
    BOTH(FD_CUDA_DRIVER, 291, 425, "cuMemcpy3DAsync"),
    BOTH(FD_CUDA_DRIVER, 319, 426, "cuMemcpyPeerAsync"),
    BOTH(FD_CUDA_DRIVER, 249, 411, "cuMemsetD8"),
    BOTH(FD_CUDA_DRIVER, 251, 413, "cuMemsetD32"),
    BOTH(FD_CUDA_DRIVER, 216, 428, "cuMemsetD8Async"),
    BOTH(FD_CUDA_DRIVER, 218, 429, "cuMemsetD16Async"),
    BOTH(FD_CUDA_DRIVER, 220, 430, "cuMemsetD32Async"),
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

uint32_t
fd_launch_function_at(size_t index)
{
    return index < FUNCTIONS ? fd_launch_function(functions[index].domain,
                                                  functions[index].number)
                             : 0;
}

const char *
fd_launch_name(uint32_t function)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        if (fd_launch_function_at(i) == function) {
            return functions[i].name;
        }
    }
    return NULL;
}
