/* torch.cuda.nvtx as ranges. Its Python functions are known by name
 * (name_rules.c); nothing is replaced, and no NVTX library is required: if a
 * function raises, as on a CPU build, no range begins.
 *
 *     range_push(msg) ... range_pop()      a range of the thread's stack
 *     id = range_start(msg) ... range_end(id)   may end on any thread: like
 *                                          an asynchronous record
 *
 * nvtx.range and its decorator call range_push and range_pop. Requires the
 * GIL. */
#ifndef FD_NVTX_H
#define FD_NVTX_H

#include "capture/state/session_state.h"

typedef enum fd_nvtx_what {
    FD_NVTX_PUSH,
    FD_NVTX_POP,
    FD_NVTX_START,
    FD_NVTX_END
} fd_nvtx_what;

typedef struct fd_nvtx_call {
    fd_nvtx_what what;
    PyObject *argument; /* owned; NULL without */
} fd_nvtx_call;

/* The call of one of these functions in `frame`. */
fd_nvtx_call fd_nvtx_called(const fd_frame *frame);

/* After it has returned and its entry is closed. */
void fd_nvtx_returned(fd_thread *thread, const fd_nvtx_call *call,
                      PyObject *result);

#endif
