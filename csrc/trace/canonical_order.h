/* The one order of a trace that depends on its content alone, so that equal
 * traces are equal bytes whatever order they were put together in. */
#ifndef FD_CANONICAL_ORDER_H
#define FD_CANONICAL_ORDER_H

#include "trace/trace.h"

/* Sort nodes, modules, contexts (depth first, children by what they are) and
 * ranks, drop nodes, modules and texts that nothing refers to, and mark nodes
 * whose keys differ in the line alone. */
fd_status fd_trace_sort(fd_trace *trace);

#endif
