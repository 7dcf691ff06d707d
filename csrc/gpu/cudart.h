/* The CUDA runtime that the program has loaded, as a table of functions. We
 * never load it, never initialise CUDA, and build without its headers: all we
 * call takes numbers and opaque pointers and has looked the same since CUDA 9.
 *
 * Where the program has the runtime linked in statically, the driver's own
 * functions serve: their arguments and the error numbers we know are the same.
 *
 * The error a thread saw last is the program's. A call of ours that fails, or
 * says "not ready", would leave its own there, so every answer goes through
 * fd_cuda_answer, which takes it away again; and where the program has an
 * error waiting (fd_cuda_is_clean), nothing is called at all. */
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
    const char *library; /* the name it was found under */
} fd_cudart;

/* FD_EINVAL with the reason: none is loaded, or one lacks a function. */
fd_status fd_cudart_find(fd_cudart *cuda, fd_error *error);

/* What a call of ours answered, with no trace left of it. */
static inline int
fd_cuda_answer(const fd_cudart *cuda, int answer)
{
    if (answer != FD_CUDA_SUCCESS && cuda->last_error != NULL) {
        cuda->last_error();
    }
    return answer;
}

/* Whether this thread's last error is none, and ours to lose. */
static inline bool
fd_cuda_is_clean(const fd_cudart *cuda)
{
    return cuda->peek_error == NULL || cuda->peek_error() == FD_CUDA_SUCCESS;
}

#endif
