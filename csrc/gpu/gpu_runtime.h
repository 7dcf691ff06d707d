/* The GPU runtime that the program has loaded, CUDA or HIP (ROCm), as a table
 * of functions. This folder never loads or initialises it and needs no
 * headers: all arguments are numbers and opaque pointers, unchanged since CUDA
 * 9. HIP functions have the same arguments, flags and error numbers under
 * other names (since ROCm 5.3).
 *
 * If the program has linked the CUDA runtime statically, the table has driver
 * functions, which have the same arguments and error numbers.
 *
 * In comments of this folder, CUDA stands for both runtimes.
 *
 * The last error of a thread belongs to the program. A call of the recorder
 * that fails or returns "not ready" would replace it. So every result passes
 * through fd_gpu_result, which clears the error, and the recorder calls
 * nothing while the program has a pending error (fd_gpu_is_clean). */
#ifndef FD_GPU_RUNTIME_H
#define FD_GPU_RUNTIME_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    FD_GPU_SUCCESS = 0,
    FD_GPU_NOT_READY = 600,
    FD_GPU_CAPTURE_IMPLICIT = 906 /* another stream is being captured */
};

enum { FD_GPU_STREAM_NON_BLOCKING = 1, FD_GPU_CAPTURE_RELAXED = 2 };

typedef struct fd_gpu_runtime {
    int (*event_create)(void **event, unsigned int flags);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event);
    int (*event_elapsed)(float *milliseconds, void *from, void *to);
    int (*event_destroy)(void *event);
    int (*stream_create)(void **stream, unsigned int flags);
    int (*stream_destroy)(void *stream);
    int (*stream_query)(void *stream);
    int (*stream_is_capturing)(void *stream, int *status);
    int (*get_device)(int *device);
    int (*exchange_capture_mode)(int *mode); /* mode of the calling thread */
    int (*peek_error)(void); /* NULL: the driver keeps no last error */
    int (*last_error)(void);
    const char *library; /* file name of the library */
    const char *prefix;  /* prefix of its function names: "cuda" or "hip" */
} fd_gpu_runtime;

/* Fill in the table. Return FD_EINVAL if no runtime is loaded or if it lacks a
 * function. */
fd_status fd_gpu_runtime_find(fd_gpu_runtime *runtime, fd_error *error);

/* Return the result of a call of the recorder, and clear the last error of the
 * thread. */
static inline int
fd_gpu_result(const fd_gpu_runtime *runtime, int result)
{
    if (result != FD_GPU_SUCCESS && runtime->last_error != NULL) {
        runtime->last_error();
    }
    return result;
}

/* Return whether this thread has no pending error. */
static inline bool
fd_gpu_is_clean(const fd_gpu_runtime *runtime)
{
    return runtime->peek_error == NULL
        || runtime->peek_error() == FD_GPU_SUCCESS;
}

/* Return whether a stream has no work. False also while it is captured, or
 * after an error. */
bool fd_gpu_stream_is_idle(const fd_gpu_runtime *runtime, void *stream);

#endif
