/* Kernels of recorded steps: when they are collected, and what a thread runs
 * when it launches one.
 *
 *     steps       │ recorded │ skipped │ recorded │ recorded │ skipped
 *     collector   │ on       │ drains  │ on       │ on       │ drains
 *
 * All functions require the GIL. */
#ifndef FD_KERNEL_WINDOWS_H
#define FD_KERNEL_WINDOWS_H

#include "capture/state/session_state.h"

/* Call a function of the session, if there is one, that returns whether
 * something is so. */
bool fd_timers_ask(fd_session *session, fd_thread *thread, PyObject *function);

/* Begin to collect, at the start of a window of the schedule, if the program
 * uses a GPU. */
void fd_kernel_windows_begin(fd_session *session, fd_thread *thread);

/* At the end of a step, recorded or not. */
void fd_kernel_windows_step(fd_session *session, fd_thread *thread);

/* At the end of a window. Kernels of its launches are collected later. */
void fd_kernel_windows_end(fd_session *session);

/* Note the result in the recording, and end the collection for good. */
void fd_kernel_windows_close(fd_session *session);

#endif
