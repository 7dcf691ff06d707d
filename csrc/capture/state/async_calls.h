/* Open records that may end on any thread (c10d work) and are never on a
 * stack. The table stores their starts; at the end, the duration is added to
 * the context. They are rare, so one lock suffices. */
#ifndef FD_ASYNC_CALLS_H
#define FD_ASYNC_CALLS_H

#include "recording/context_tree.h"

enum { FD_ASYNCS_OPEN = 256 };

typedef struct fd_async {
    const void *record; /* NULL: free entry */
    fd_context *context;
    uint64_t start;
    fd_op_call *call; /* call in the file; NULL: not recorded */
} fd_async;

typedef struct fd_asyncs {
    pthread_mutex_t lock;
    fd_async open[FD_ASYNCS_OPEN];
} fd_asyncs;

void fd_asyncs_init(fd_asyncs *asyncs);

/* Add `record`, which began in `context`; only asynchronous records may use
 * that context. */
void fd_asyncs_begin(fd_asyncs *asyncs, const fd_file *file,
                     const void *record, fd_context *context);

/* Drop the open records and count them as lost, because recording pauses. */
void fd_asyncs_forget(fd_asyncs *asyncs, const fd_file *file);

/* Set the execution-trace call of an open record. */
void fd_asyncs_note(fd_asyncs *asyncs, const void *record, fd_op_call *call);

/* End `record` on the thread of `tree`, or on a thread that is not recorded
 * (NULL). Return false if the record is unknown. */
bool fd_asyncs_end(fd_asyncs *asyncs, fd_tree *tree, const void *record,
                   bool timed);

#endif
