/* Folding of the kernel in a notebook or an IPython shell: its frames are
 * folded, except calls of the program below them. Requires the GIL. */
#ifndef FD_NOTEBOOK_CALLS_H
#define FD_NOTEBOOK_CALLS_H

#include "capture/frames/functions.h"

/* Fold the frames of this process's kernel in the session: calls of IPython
 * and ipykernel, and, on threads that exist now, everything that is not below
 * a call of the program. */
void fd_notebook_begin(fd_session *session);

/* Return the <folded> context of a call from the current context. Return NULL
 * if the call is recorded, or if the process is not a notebook. */
fd_context *fd_notebook_absorbing(fd_thread *thread, const PyCodeObject *code,
                                  const fd_code *known);

/* Return whether a call inside a <folded> context belongs to the program. */
bool fd_notebook_unfolds(fd_thread *thread, const PyCodeObject *code,
                         const fd_code *known);

/* Return the context of the caller of such a call: the innermost one that is
 * not <folded>. */
fd_context *fd_notebook_caller(fd_tree *tree);

#endif
