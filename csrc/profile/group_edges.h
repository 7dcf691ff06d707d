/* Call graphs: which group calls which. Contexts without a group are
 * contracted: their callees become callees of their callers. */
#ifndef FD_GROUP_EDGES_H
#define FD_GROUP_EDGES_H

#include "profile/call_groups.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

typedef struct fd_edge {
    uint32_t caller; /* group; 0: no caller in the graph */
    uint32_t callee;
    uint64_t calls;
    uint64_t resumes; /* resumes of generators */
    uint64_t total;   /* ns of the calls, without calls inside a call of the
                       * same edge */
} fd_edge;

typedef FD_VECTOR(fd_edge) fd_edges; /* sorted by caller, then callee */

extern const fd_table fd_edges_table;

fd_status fd_edges_sum(fd_edges *edges, const fd_trace *trace,
                       const fd_groups *groups, const fd_totals *totals);

#endif
