/* Many traces into one. The result depends on the set of recordings alone:
 * not on the order of the calls, nor on what was merged before. */
#ifndef FD_TRACE_MERGE_H
#define FD_TRACE_MERGE_H

#include "trace/trace.h"

/* Add everything of `from` to `into` (not sorted yet). `name` is what messages
 * call it. FD_ECONFLICT, and `into` unchanged: a rank is there already, or the
 * two are of different runs. Call fd_trace_sort when all are in. */
fd_status fd_merge_add(fd_trace *into, const fd_trace *from, const char *name,
                       fd_error *error);

/* Ids of a trace on the left, of the one it was added to on the right. */
typedef struct fd_merge_ids {
    bool lineless;   /* functions that differ by their line alone are one */
    uint32_t *texts; /* all owned */
    uint32_t *nodes;
    uint32_t *modules;
    uint32_t *contexts;
} fd_merge_ids;

/* Add all but the ranks. `ids` has nothing but `lineless` before, and is to be
 * cleared in any case. */
fd_status fd_merge_shared(fd_trace *into, const fd_trace *from,
                          fd_merge_ids *ids);
void fd_merge_ids_clear(fd_merge_ids *ids);

/* The run a rank belongs to, as JSON text; "" when it does not say. */
const char *fd_merge_run_id(const fd_trace *trace, const fd_trace_rank *rank);

#endif
