/* Allocations and frees as PyTorch reports them: its allocators call functions
 * of libc10 for each block, whether or not a profiler runs. While a session
 * measures memory, slots of the calling libraries (torch/import_slots.h)
 * redirect these calls to this file, which then calls PyTorch's function. */
#ifndef FD_MEMORY_REPORTS_H
#define FD_MEMORY_REPORTS_H

#include "capture/state/session_state.h"

/* Start to receive reports. `probe` allocates and frees a tensor of 4099
 * bytes: if it is not reported, return FD_EINVAL with the reason. Requires the
 * GIL, as do all functions below except the lock. */
fd_status fd_memory_reports_begin(fd_session *session, fd_thread *thread,
                                  PyObject *probe, fd_error *error);

/* End a step on the thread with this tree. */
void fd_memory_reports_step(fd_session *session, fd_tree *tree);

/* Return the live bytes of all devices, plus 1; 0: not measured. */
uint64_t fd_memory_reports_live(const fd_session *session);

/* Discard the steps so far, because another source of steps takes over. */
void fd_memory_reports_discard(fd_session *session);

/* Stop receiving reports for good. */
void fd_memory_reports_end(fd_session *session);

/* Only restore the slots, in a forked child. */
void fd_memory_reports_ignore(void);

/* Free the state. No thread may receive reports any more. */
void fd_memory_reports_free(fd_session *session);

/* Lock or unlock, around fork. */
void fd_memory_reports_lock(fd_session *session, bool lock);

#endif
