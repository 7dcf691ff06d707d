/* Names of threads, and their roles: names that are the same in every run. */
#ifndef FD_THREAD_NAMES_H
#define FD_THREAD_NAMES_H

#include "capture/process/thread.h"

/* Return a new reference to the name of the threading.Thread whose bootstrap
 * is the outermost frame, or NULL. It is read from the dict of the thread
 * object, without running code of the program. `frame` is entered from
 * `caller`. Requires the GIL. */
PyObject *fd_thread_name(fd_thread *thread, fd_frame *caller, fd_frame *frame);

/* Return whether the calling thread is the main thread. */
bool fd_thread_is_main(void);

/* Copy a name; a run of digits becomes one '*'. */
void fd_fold_digits(const char *from, char *to, size_t capacity);

enum { FD_ROLE_SIZE = 64 };

/* Derive the role from the name of a Python thread ("Thread-3
 * (_pin_memory_loop)") or, if that is NULL, of the kernel thread
 * ("pt_autograd_0"). Numbers, which differ between runs, are replaced by
 * '*'. */
void fd_role_of(const char *python_name, const char *system_name,
                char role[FD_ROLE_SIZE]);

#endif
