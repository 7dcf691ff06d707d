/* Ranges: record_function, label, torch.cuda.nvtx, and ranges of C++ code. */
#ifndef FD_RANGES_H
#define FD_RANGES_H

#include "capture/state/session_state.h"

/* Begin a range, identified by `owner`. Its context is created when its parent
 * is known, at its first child or its end: see recording/open_entries.h. */
void fd_range_start(fd_thread *thread, const char *name, const void *owner,
                    bool timed);

/* End the entry at index `at` of the stack. Open entries above it remain,
 * because a range is opened inside its __enter__. */
void fd_range_end(fd_thread *thread, uint32_t at, bool timed);

/* Begin a range that may end on any thread. */
void fd_range_start_async(fd_thread *thread, const char *name,
                          const void *owner, bool timed);

/* Recording of torch.cuda.nvtx ranges. Its Python functions are recognised by
 * name (name_rules.c); they are not replaced, and no NVTX library is required.
 * If a function raises, as on a CPU build, no range begins.
 *
 *     range_push(msg) ... range_pop()      a range of the thread's stack
 *     id = range_start(msg) ... range_end(id)   may end on any thread: like
 *                                          an asynchronous record
 *
 * nvtx.range and its decorator call range_push and range_pop. Requires the
 * GIL. */

typedef enum fd_nvtx_what {
    FD_NVTX_PUSH,
    FD_NVTX_POP,
    FD_NVTX_START,
    FD_NVTX_END
} fd_nvtx_what;

typedef struct fd_nvtx_call {
    fd_nvtx_what what;
    PyObject *argument; /* owned; NULL: no argument */
} fd_nvtx_call;

/* Read the call of one of these functions from `frame`. */
fd_nvtx_call fd_nvtx_called(const fd_frame *frame);

/* Begin or end the range, after the function has returned and its entry is
 * closed. */
void fd_nvtx_returned(fd_thread *thread, const fd_nvtx_call *call,
                      PyObject *result);

#endif
