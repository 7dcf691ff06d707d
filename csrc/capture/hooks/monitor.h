/* The default source of Python calls on Python 3.12 and later: sys.monitoring
 * (PEP 669). Arguments live as long as without it. It reports calls that the
 * evaluator hook does not receive (constructors on 3.13), and uses neither the
 * C stack nor the evaluator. */
#ifndef FD_MONITOR_H
#define FD_MONITOR_H

#include "base/status.h"
#include "capture/hooks/frame_hook.h"
#include "capture/process/thread.h"

/* Register the callbacks, or change their work to `hook`. Return FD_ECONFLICT
 * if no tool id is free; the message names the tools that use them. Sets no
 * exception. Requires the GIL, like all functions below. */
fd_status fd_monitor_install(fd_hook hook, fd_error *error);

/* Disable all events until the next fd_monitor_install. The tool id is kept,
 * because another tool could claim it. */
void fd_monitor_pause(void);

void fd_monitor_remove(void);

/* Parts of the callbacks, for watched_steps.c (Python 3.12 and later). */

/* Handle the start of a call, or a resume. */
void fd_monitor_entered(PyObject *code, bool starts);

/* Record nothing until the end of the frame. */
void fd_monitor_mute(fd_thread *thread, const fd_frame *frame);

/* End the muted state if this is the end of the muted frame. Return whether it
 * is. */
bool fd_monitor_unmute(const fd_frame *frame);

/* Handle the end of a call with FD_CODE_EVENTS, after its entry was closed,
 * because this may end the recording. */
void fd_monitor_returned(uint16_t special);

#endif
