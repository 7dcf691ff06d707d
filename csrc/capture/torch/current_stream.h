/* Which CUDA stream the calling thread launches on, as PyTorch sees it.
 *
 * By c10::cuda::getCurrentCUDAStream of the libc10_cuda.so that the program
 * has loaded: needs no GIL, and returns the streams that autograd sets on its
 * own threads. Where PyTorch has no such function, by the function that
 * Inductor and Triton use, torch._C._cuda_getCurrentRawStream: that one needs
 * the GIL, which operators run without. So it is called as Python calls begin
 * and end, and a thread without Python calls (of autograd) is not timed. */
#ifndef FD_CURRENT_STREAM_H
#define FD_CURRENT_STREAM_H

#include "capture/process/thread_timers.h"
#include "capture/python/pyframe.h"

#include <stdbool.h>
#include <stdint.h>

/* c10::cuda::CUDAStream: device type, device index, stream id. Two words, and
 * a C++ compiler returns it in registers. */
typedef struct fd_c10_stream {
    int64_t device;
    int64_t id;
} fd_c10_stream;

typedef struct fd_current_stream {
    fd_c10_stream (*current)(signed char device); /* NULL: ask Python */
    void *(*handle)(const fd_c10_stream *stream);
    PyObject *function; /* owned: _cuda_getCurrentRawStream, or NULL */
} fd_current_stream;

/* Find either function. Returns false without one. Needs the GIL. */
bool fd_current_stream_find(fd_current_stream *stream);
void fd_current_stream_clear(fd_current_stream *stream);

/* The stream on `device`; false: unknown at this moment. Keeps a
 * pending exception. */
bool fd_current_stream_get(const fd_current_stream *stream, int device,
                           fd_stream_memory *memory, void **handle);

#endif
