/* Thread roles: thread names that are the same in every run. */
#ifndef FD_THREAD_ROLES_H
#define FD_THREAD_ROLES_H

#include <stddef.h>

enum { FD_ROLE_SIZE = 64 };

/* Derive the role from the name of a Python thread ("Thread-3
 * (_pin_memory_loop)") or, if that is NULL, of the kernel thread
 * ("pt_autograd_0"). Numbers, which differ between runs, are replaced by
 * '*'. */
void fd_role_of(const char *python_name, const char *system_name,
                char role[FD_ROLE_SIZE]);

#endif
