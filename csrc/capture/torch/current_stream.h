/* PyTorch's current CUDA or HIP stream of the calling thread.
 *
 * The stream is read with c10::cuda::getCurrentCUDAStream of the
 * libc10_cuda.so or libc10_hip.so (ROCm) that the program has loaded: it works
 * without the GIL and returns the streams that autograd sets on its own
 * threads. If PyTorch lacks that function, it is read with
 * torch._C._cuda_getCurrentRawStream, which Inductor and Triton use and which
 * requires the GIL. Operators run without the GIL, so the latter is called at
 * the start and end of Python calls; threads without Python calls (of
 * autograd) are not timed. */
#ifndef FD_CURRENT_STREAM_H
#define FD_CURRENT_STREAM_H

#include "capture/process/thread.h"
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

/* Find one of the functions. Return false if both are missing. Requires the
 * GIL. */
bool fd_current_stream_find(fd_current_stream *stream);
void fd_current_stream_clear(fd_current_stream *stream);

/* Get the stream on `device`. Return false if it is not known now. Keeps a
 * pending exception. */
bool fd_current_stream_get(const fd_current_stream *stream, int device,
                           fd_stream_memory *memory, void **handle);

#endif
