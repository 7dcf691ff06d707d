/* Allocations and frees as PyTorch reports them: its allocators call functions
 * of libc10 for each block, whether a profiler runs or not. These calls go
 * through slots of the calling libraries (torch/import_slots.h), which lead
 * here and then to PyTorch's function, while a session measures memory. */
#ifndef FD_MEMORY_REPORTS_H
#define FD_MEMORY_REPORTS_H

#include "capture/state/session_state.h"

/* Start to listen. `probe` allocates and frees a tensor of 4099 bytes: if its
 * reports do not come, FD_EINVAL, with the reason. Requires the GIL, as all
 * functions below except the locks. */
fd_status fd_memory_reports_begin(fd_session *session, fd_thread *thread,
                                  PyObject *probe, fd_error *error);

/* The step ends, on the thread with this tree. */
void fd_memory_reports_step(fd_session *session, fd_tree *tree);

/* The ends of steps so far were no steps. */
void fd_memory_reports_discard(fd_session *session);

/* Stop to listen, finally. */
void fd_memory_reports_end(fd_session *session);

/* Restore the slots only: in a forked child. */
void fd_memory_reports_ignore(void);

/* No thread listens any more. */
void fd_memory_reports_free(fd_session *session);

/* Around fork. */
void fd_memory_reports_lock(fd_session *session);
void fd_memory_reports_unlock(fd_session *session);

#endif
