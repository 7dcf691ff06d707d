/* Places in the program from which optimizers are called: a place is the
 * functions on the stack and the instruction of each. Requires the GIL. */
#ifndef FD_STEP_SITES_H
#define FD_STEP_SITES_H

#include "capture/state/session_state.h"

/* Return the number of the place from which `caller` calls the optimizer
 * thread->stepping, or FD_NO_SITE. `callee`: see fd_frame_call. A new place is
 * passed to session->step_plan.on_site, which relates it to the others. */
uint32_t fd_step_site(fd_session *session, fd_thread *thread, fd_frame *caller,
                      const fd_frame *callee);

#endif
