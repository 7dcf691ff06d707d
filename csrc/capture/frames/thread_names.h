/* Names of Python threads. Requires the GIL. */
#ifndef FD_THREAD_NAMES_H
#define FD_THREAD_NAMES_H

#include "capture/process/thread.h"

/* Return a new reference to the name of the threading.Thread whose bootstrap
 * is the outermost frame, or NULL. It is read from the dict of the thread
 * object, without running code of the program. `frame` is entered from
 * `caller`. */
PyObject *fd_thread_name(fd_thread *thread, fd_frame *caller, fd_frame *frame);

/* Return whether the calling thread is the main thread. */
bool fd_thread_is_main(void);

#endif
