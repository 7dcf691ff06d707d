/* PyTorch's current stream of CUDA or HIP of the calling thread.
 *
 * From c10::cuda::getCurrentCUDAStream of the libc10_cuda.so or libc10_hip.so
 * (of ROCm) that the program has loaded: it works without the GIL and returns
 * the streams that autograd sets on its own threads. If PyTorch has no such function, from the function
 * that Inductor and Triton use, torch._C._cuda_getCurrentRawStream, which
 * requires the GIL. Operators run without the GIL, so that function is called
 * at the begin and end of Python calls; threads without Python calls (of
 * autograd) are not timed. */
#ifndef FD_CURRENT_STREAM_H
#define FD_CURRENT_STREAM_H

#include "capture/process/thread_timers.h"
#include "capture/python/pyframe.h"

#include <stdbool.h>
#include <stdint.h>

/* c10::cuda::CUDAStream or c10::hip::HIPStream: device type, device index,
 * stream id. Two words, which a C++ compiler returns in registers. */
typedef struct fd_c10_stream {
    int64_t device;
    int64_t id;
} fd_c10_stream;

typedef struct fd_current_stream {
    fd_c10_stream (*current)(signed char device); /* NULL: use `function` */
    void *(*handle)(const fd_c10_stream *stream);
    PyObject *function; /* owned: _cuda_getCurrentRawStream, or NULL */
} fd_current_stream;

/* Find either function; false without one. Requires the GIL. */
bool fd_current_stream_find(fd_current_stream *stream);
void fd_current_stream_clear(fd_current_stream *stream);

/* The stream on `device`; false if currently unknown. Keeps a pending
 * exception. */
bool fd_current_stream_get(const fd_current_stream *stream, int device,
                           fd_stream_memory *memory, void **handle);

#endif
