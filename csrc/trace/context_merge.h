/* Contexts of another trace, merged into one. */
#ifndef FD_CONTEXT_MERGE_H
#define FD_CONTEXT_MERGE_H

#include "trace/trace.h"

/* Add contexts whose nodes and modules are the trace's own, but whose parents
 * and origins are indexes into `contexts` (entry 0 unused) in any order.
 * `wanted` (NULL: all) selects some; their parents and origins are added too.
 * map[i] becomes the trace's id of contexts[i], 0 if not added. A cycle or an
 * index out of range is cut: the child has no parent then. */
fd_status fd_contexts_merge(fd_trace *trace, const fd_trace_context *contexts,
                            const bool *wanted, uint32_t count, uint32_t *map);

#endif
