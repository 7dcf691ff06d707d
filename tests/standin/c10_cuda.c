/* A STAND-IN for PyTorch's libc10_cuda, for tests on machines without a GPU:
 * the current stream of the calling thread, and an allocator of blocks that do
 * not exist, which reports as the real one does. Compiled as libc10_hip.so, and
 * before PyTorch 2.11 with other names, it is that of ROCm. */
#include <stddef.h>
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

/* Functions of libc10: reportMemoryUsageToProfiler(void *, int64_t, size_t,
 * size_t, Device), reportOutOfMemoryToProfiler(int64_t, size_t, size_t,
 * Device). A device is two bytes: type and index. */
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, int64_t,
                                                           size_t, size_t,
                                                           uint16_t)
    __attribute__((weak));
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t, size_t,
                                                         size_t, uint16_t)
    __attribute__((weak));

enum { CUDA = 1, SEGMENT = 2 << 20 };

static struct {
    size_t allocated;
    size_t reserved;
    size_t peak;
    uintptr_t next;
} gpu = {.next = 0x700000000000};

/* Allocate a block, rounded up to 512 bytes, of `limit` bytes of the device.
 * Return 0 after a failure. */
uintptr_t standin_allocate(size_t bytes, size_t limit);
uintptr_t
standin_allocate(size_t bytes, size_t limit)
{
    size_t size = (bytes + 511) / 512 * 512;
    if (gpu.allocated + size > limit) {
        _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(
            (int64_t)size, gpu.allocated, gpu.reserved, CUDA);
        return 0;
    }
    uintptr_t address = gpu.next;
    gpu.next += size;
    gpu.allocated += size;
    gpu.peak = gpu.allocated > gpu.peak ? gpu.allocated : gpu.peak;
    while (gpu.reserved < gpu.allocated) {
        gpu.reserved += SEGMENT;
    }
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(
        (void *)address, (int64_t)size, gpu.allocated, gpu.reserved, CUDA);
    return address;
}

void standin_free(uintptr_t address, size_t bytes);
void
standin_free(uintptr_t address, size_t bytes)
{
    size_t size = (bytes + 511) / 512 * 512;
    gpu.allocated -= size;
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(
        (void *)address, -(int64_t)size, gpu.allocated, gpu.reserved, CUDA);
}

/* As torch.cuda.max_memory_allocated(), memory_reserved(). */
size_t standin_peak(void);
size_t
standin_peak(void)
{
    return gpu.peak;
}

size_t standin_reserved(void);
size_t
standin_reserved(void)
{
    return gpu.reserved;
}
