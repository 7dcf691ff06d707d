/* Ranges: record_function, label, and ranges of C++ code. */
#ifndef FD_RANGES_H
#define FD_RANGES_H

#include "capture/state/session_state.h"

/* A range of this name begins, known by `owner`. It becomes a context when its
 * first child or its end shows whose range it is: see
 * recording/open_entries.h. */
void fd_range_start(fd_thread *thread, const char *name, const void *owner,
                    bool timed);

/* The entry at `at` of the stack ends. What opened under it and is still open
 * (a range in its __enter__) stays. */
void fd_range_end(fd_thread *thread, uint32_t at, bool timed);

/* A range that may end on any thread. */
void fd_range_start_async(fd_thread *thread, const char *name,
                          const void *owner, bool timed);

#endif
