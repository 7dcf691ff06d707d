/* The CUDA runtime that the program has loaded, as a table of functions. This
 * folder never loads it, never initialises CUDA and requires no headers: all
 * functions have numbers and opaque pointers as arguments, the same since
 * CUDA 9.
 *
 * If the program has linked the runtime statically, the functions of the
 * driver are used: they have the same arguments and error numbers.
 *
 * The last error of a thread belongs to the program. A call of the recorder
 * that fails, or returns "not ready", would replace it, so every result passes
 * through fd_cuda_result, which clears it; and while the program has a pending
 * error (fd_cuda_is_clean), nothing is called. */
#ifndef FD_CUDART_H
#define FD_CUDART_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    FD_CUDA_SUCCESS = 0,
    FD_CUDA_NOT_READY = 600,
    FD_CUDA_CAPTURE_IMPLICIT = 906 /* another stream is being captured */
};

enum { FD_CUDA_STREAM_NON_BLOCKING = 1, FD_CUDA_CAPTURE_RELAXED = 2 };

typedef struct fd_cudart {
    int (*event_create)(void **event, unsigned int flags);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event);
    int (*event_elapsed)(float *milliseconds, void *from, void *to);
    int (*event_destroy)(void *event);
    int (*stream_create)(void **stream, unsigned int flags);
    int (*stream_destroy)(void *stream);
    int (*stream_is_capturing)(void *stream, int *status);
    int (*get_device)(int *device);
    int (*exchange_capture_mode)(int *mode); /* of the calling thread */
    int (*peek_error)(void); /* NULL: the driver keeps no last error */
    int (*last_error)(void);
    const char *library; /* its file name */
} fd_cudart;

/* FD_EINVAL if no runtime is loaded, or if it lacks a function. */
fd_status fd_cudart_find(fd_cudart *cuda, fd_error *error);

/* Pass on the result of a call of the recorder; clear the last error of the
 * thread. */
static inline int
fd_cuda_result(const fd_cudart *cuda, int result)
{
    if (result != FD_CUDA_SUCCESS && cuda->last_error != NULL) {
        cuda->last_error();
    }
    return result;
}

/* Whether this thread has no pending error. */
static inline bool
fd_cuda_is_clean(const fd_cudart *cuda)
{
    return cuda->peek_error == NULL || cuda->peek_error() == FD_CUDA_SUCCESS;
}

#endif
