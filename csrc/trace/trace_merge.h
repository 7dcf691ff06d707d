/* Merge of traces. The result depends only on the set of recordings, not on
 * their order or on earlier merges. */
#ifndef FD_TRACE_MERGE_H
#define FD_TRACE_MERGE_H

#include "base/arena.h"
#include "trace/trace.h"

/* Move the content of `from` to `into`, which must not be sorted yet; `from`
 * then has no ranks and can only be freed. `name` is the name of `from` in
 * messages. FD_ECONFLICT, with both unchanged: a rank exists already, or the
 * two are of different runs. Call fd_trace_sort after the last merge. */
fd_status fd_merge_take(fd_trace *into, fd_trace *from, const char *name,
                        fd_error *error);

/* Maps from the ids of a trace to those of the trace to which it was added. */
typedef struct fd_merge_ids {
    fd_arena arena;     /* of the maps; the caller clears it */
    const bool *wanted; /* borrowed; contexts to add, with their dependencies;
                         * NULL: all */
    uint32_t *texts;
    uint32_t *nodes;
    uint32_t *modules;
    uint32_t *contexts;
} fd_merge_ids;

/* Add everything except the ranks, which can be added afterwards. `ids` must
 * be empty except `wanted`; clear its arena also after a failure. */
fd_status fd_merge_shared(fd_trace *into, const fd_trace *from,
                          fd_merge_ids *ids);
fd_status fd_merge_ranks(fd_trace *into, const fd_trace *from,
                         const fd_merge_ids *ids);

/* Return the id of the run of a rank, as JSON, or "" if it is unknown. */
const char *fd_merge_run_id(const fd_trace *trace, const fd_trace_rank *rank);

/* Merge of the contexts of another trace. */

/* Add contexts whose nodes and modules are ids of this trace, but whose
 * parents and origins are indexes into `contexts` (entry 0 unused), in any
 * order. `wanted` (NULL: all) selects some; their parents and origins are
 * added too. map[i] becomes the id of contexts[i], or 0 if it was not added. A
 * cycle or an index out of range is cut: the child then has no parent. */
fd_status fd_contexts_merge(fd_trace *trace, const fd_trace_context *contexts,
                            const bool *wanted, uint32_t count, uint32_t *map);

#endif
