/* Ranges: record_function, label, and ranges of C++ code. */
#ifndef FD_RANGES_H
#define FD_RANGES_H

#include "capture/state/session_state.h"

/* Begin a range, identified by `owner`. Its context is created when its parent
 * is known, at its first child or its end: see recording/open_entries.h. */
void fd_range_start(fd_thread *thread, const char *name, const void *owner,
                    bool timed);

/* End the entry at index `at` of the stack. Open entries above it remain,
 * because a range is opened inside its __enter__. */
void fd_range_end(fd_thread *thread, uint32_t at, bool timed);

/* Begin a range that may end on any thread. */
void fd_range_start_async(fd_thread *thread, const char *name,
                          const void *owner, bool timed);

#endif
