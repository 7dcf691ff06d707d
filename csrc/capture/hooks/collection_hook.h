/* Collections of CPython's garbage collector, as calls of the ranges gc:gen0,
 * gc:gen1 and gc:gen2 on the thread that collects, below its innermost open
 * call. Requires the GIL. */
#ifndef FD_COLLECTION_HOOK_H
#define FD_COLLECTION_HOOK_H

#include "capture/state/session_state.h"

/* Create the function that is added to gc.callbacks, once per process. -1 with
 * an exception. */
int fd_collections_init(void);

/* Append the function to gc.callbacks, unless it is there. Other functions
 * keep their order. Without memory, or where the program has replaced the
 * list, collections are not recorded. */
void fd_collections_watch(const fd_session *session);

/* Remove it. During a collection the function stays in the list, without
 * effect: its removal would make CPython skip another one. */
void fd_collections_ignore(void);

/* Number of collections, collected objects and uncollectable objects of a
 * session, per generation: a new reference to [(runs, collected,
 * uncollectable)] * 3. */
PyObject *fd_collections_counts(const fd_session *session);

#endif
