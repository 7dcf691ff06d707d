/* A STAND-IN for PyTorch's libc10_cuda, for tests on machines without a GPU:
 * only the current stream of the calling thread. Compiled as libc10_hip.so, and
 * before PyTorch 2.11 with other names, it is that of ROCm. */
#include <stdint.h>

typedef struct cuda_stream {
    int64_t device;
    void *handle;
} cuda_stream;

static __thread void *current;

void
standin_use_stream(void *handle)
{
    current = handle;
}

/* c10::cuda::CUDAStream c10::cuda::getCurrentCUDAStream(DeviceIndex) */
cuda_stream _ZN3c104cuda20getCurrentCUDAStreamEa(signed char device);
cuda_stream
_ZN3c104cuda20getCurrentCUDAStreamEa(signed char device)
{
    return (cuda_stream){device, current};
}

/* cudaStream_t c10::cuda::CUDAStream::stream() const */
void *_ZNK3c104cuda10CUDAStream6streamEv(const cuda_stream *stream);
void *
_ZNK3c104cuda10CUDAStream6streamEv(const cuda_stream *stream)
{
    return stream->handle;
}

void standin_use_stream(void *handle);
