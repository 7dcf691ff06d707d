/* The canonical order of a trace depends only on its content, so that equal
 * traces have equal bytes in any order of merging. */
#ifndef FD_CANONICAL_ORDER_H
#define FD_CANONICAL_ORDER_H

#include "base/arena.h"
#include "trace/trace.h"

/* Sort nodes, modules, contexts (depth first, children by content) and ranks;
 * remove unreferenced nodes, modules and texts; mark nodes whose keys differ
 * only in the line. */
fd_status fd_trace_sort(fd_trace *trace);

/* Remove unreferenced texts and number the others in the order of their
 * bytes. */
void fd_sort_texts(fd_arena *arena, fd_trace *trace);

#endif
