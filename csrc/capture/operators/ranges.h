/* Ranges: record_function, label, and ranges of C++ code. */
#ifndef FD_RANGES_H
#define FD_RANGES_H

#include "capture/state/session_state.h"

/* A range of this name begins, identified by `owner`. It gets a context at its
 * first child or its end, when its parent is known: see
 * recording/open_entries.h. */
void fd_range_start(fd_thread *thread, const char *name, const void *owner,
                    bool timed);

/* The entry at `at` of the stack ends. Open entries above it
 * (a range in its __enter__) stay. */
void fd_range_end(fd_thread *thread, uint32_t at, bool timed);

/* A range that may end on any thread. */
void fd_range_start_async(fd_thread *thread, const char *name,
                          const void *owner, bool timed);

#endif
