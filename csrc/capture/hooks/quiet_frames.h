/* The quiet call that runs: the evaluator hook is removed until it returns, or
 * put back earlier. Requires the GIL, except fd_quiet_is_long. */
#ifndef FD_QUIET_FRAMES_H
#define FD_QUIET_FRAMES_H

#include "capture/frames/code_nodes.h"
#include "capture/process/thread.h"

typedef struct fd_quiet_frames {
    const fd_frame *frame;   /* without the hook until it returns; or NULL */
    const fd_frame *open;    /* nothing is quiet until it returns; or NULL */
    uint32_t count;          /* of quiet calls so far */
    _Atomic uint32_t number; /* of the call that runs, or 0 */
    uint32_t seen;           /* the same at the previous look of the watch */
    uint32_t reported;       /* the latest long one */
} fd_quiet_frames;

extern fd_quiet_frames fd_quiet;

/* Return whether the call of `frame`, which is on the stack of the thread, may
 * be quiet. */
bool fd_quiet_applies(const fd_thread *thread, const fd_code *known,
                      const fd_frame *frame);

/* Return whether all calls of this step are followed, to find code that runs
 * for the first time. */
bool fd_quiet_is_opened(const struct fd_session *session);

/* Let no call be quiet until the next choice: the evidence for it is gone. */
void fd_quiet_forget(struct fd_session *session);

/* Evaluate the call with CPython's evaluator, for all threads. fd_quiet.frame
 * is still `frame` if nothing has put the hook back. */
PyObject *fd_quiet_evaluate(PyThreadState *state, fd_frame *frame,
                            int throwing, fd_thread *thread);

/* Return whether the same quiet call ran at the previous time, once for each.
 * For one thread, without the GIL. */
bool fd_quiet_is_long(void);

#endif
