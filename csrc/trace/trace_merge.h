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

/* The same, and quicker: `from`, which is to be freed, has no ranks then. */
fd_status fd_merge_take(fd_trace *into, fd_trace *from, const char *name,
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

/* Contexts of another trace, merged into one. */

/* Add contexts whose nodes and modules are the trace's own, but whose parents
 * and origins are indexes into `contexts` (entry 0 unused) in any order.
 * `wanted` (NULL: all) selects some; their parents and origins are added too.
 * map[i] becomes the trace's id of contexts[i], 0 if not added. A cycle or an
 * index out of range is cut: the child has no parent then. */
fd_status fd_contexts_merge(fd_trace *trace, const fd_trace_context *contexts,
                            const bool *wanted, uint32_t count, uint32_t *map);

#endif
