/* Numbers of call paths that are the same in every trace: a hash of what the
 * path consists of. Rows of different files are joined by them. */
#ifndef FD_PATH_IDS_H
#define FD_PATH_IDS_H

#include "trace/trace.h"

/* An array by context (entry 0: 0); NULL without memory. */
uint64_t *fd_path_ids(const fd_trace *trace);

#endif
