/* Ids of call paths that are equal in every trace: a hash of the names on the
 * path. They join rows of different files. */
#ifndef FD_PATH_IDS_H
#define FD_PATH_IDS_H

#include "trace/trace.h"

/* Return an array of ids by context (entry 0: 0), or NULL after a failed
 * allocation. The caller frees it. */
uint64_t *fd_path_ids(const fd_trace *trace);

#endif
