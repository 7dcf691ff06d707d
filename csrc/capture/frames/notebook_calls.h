/* Recordings inside a notebook or an IPython shell: the frames of the kernel
 * are folded, except for calls of the program below them. Requires the GIL. */
#ifndef FD_NOTEBOOK_CALLS_H
#define FD_NOTEBOOK_CALLS_H

#include "capture/frames/functions.h"

/* Fold the frames of this process's kernel in the session: calls of IPython
 * and ipykernel, and on threads that exist now everything that is not below a
 * call of the program. */
void fd_notebook_begin(fd_session *session);

/* The <folded> context of a call from the current context; NULL if the call is
 * recorded, or the session is not of a notebook. */
fd_context *fd_notebook_absorbing(fd_thread *thread, const PyCodeObject *code,
                                  const fd_code *known);

/* Whether a call inside a <folded> context is one of the program. */
bool fd_notebook_unfolds(fd_thread *thread, const PyCodeObject *code,
                         const fd_code *known);

/* The context of the caller of such a call: the innermost one that is not
 * <folded>. */
fd_context *fd_notebook_caller(fd_tree *tree);

#endif
