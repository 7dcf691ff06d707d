/* Collections of CPython's garbage collector, as calls of the ranges gc:gen0,
 * gc:gen1 and gc:gen2 on the thread that collects, below its innermost open
 * call. Requires the GIL. */
#ifndef FD_COLLECTION_HOOK_H
#define FD_COLLECTION_HOOK_H

#include "capture/state/session_state.h"

/* Create the callback for gc.callbacks, once per process. Return -1 with an
 * exception on failure. */
int fd_collections_init(void);

/* Append the callback to gc.callbacks unless the list contains it. Other
 * callbacks keep their order. If there is no memory or the program has
 * replaced the list, collections are not recorded. */
void fd_collections_watch(const fd_session *session);

/* Remove the callback. During a collection it stays in the list without
 * effect, because its removal would make CPython skip another callback. */
void fd_collections_ignore(void);

/* Return the number of collections, collected objects and uncollectable
 * objects of a session per generation: a new reference to [(runs, collected,
 * uncollectable)] * 3. */
PyObject *fd_collections_counts(const fd_session *session);

#endif
