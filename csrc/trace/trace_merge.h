/* Merge traces. The result depends only on the set of recordings, not on their
 * order or on earlier merges. */
#ifndef FD_TRACE_MERGE_H
#define FD_TRACE_MERGE_H

#include "trace/trace.h"

/* Add everything of `from` to `into` (not sorted yet). `name` is its name in
 * messages. FD_ECONFLICT, with `into` unchanged: a rank exists already, or the
 * two are of different runs. Call fd_trace_sort after the last. */
fd_status fd_merge_add(fd_trace *into, const fd_trace *from, const char *name,
                       fd_error *error);

/* Ids of a trace on the left, of the one it was added to on the right. */
typedef struct fd_merge_ids {
    bool lineless;      /* functions that differ only by their line are one */
    const bool *wanted; /* borrowed; contexts to add, with those that they
                           depend on; NULL: all */
    uint32_t *texts;    /* all owned */
    uint32_t *nodes;
    uint32_t *modules;
    uint32_t *contexts;
} fd_merge_ids;

/* Add all but the ranks. `ids` is empty except `lineless` and `wanted`; clear
 * it in any case. Then add the ranks. */
fd_status fd_merge_shared(fd_trace *into, const fd_trace *from,
                          fd_merge_ids *ids);
fd_status fd_merge_ranks(fd_trace *into, const fd_trace *from,
                         const fd_merge_ids *ids);
void fd_merge_ids_clear(fd_merge_ids *ids);

/* The id of the run of a rank, as JSON text; "" if unknown. */
const char *fd_merge_run_id(const fd_trace *trace, const fd_trace_rank *rank);

#endif
