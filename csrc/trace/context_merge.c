#include "trace/context_merge.h"

#include <string.h>

typedef struct merging {
    fd_trace *trace;
    const fd_trace_context *contexts;
    uint32_t count;
    uint32_t *map;
    uint8_t *open; /* 1 while its parents are being added */
    FD_VECTOR(uint32_t) todo;
} merging;

/* The new id of `id`: 0 for none, out of range and in a cycle; `wait` is set
 * if it must be added first. */
static uint32_t
resolved(const merging *g, uint32_t id, uint32_t *wait)
{
    if (id == 0 || id >= g->count) {
        return 0;
    }
    if (g->map[id] == 0 && g->open[id] == 0) {
        *wait = id;
    }
    return g->map[id];
}

/* Add the context on top of the stack, or push those it depends on. */
static fd_status
merge_pass(merging *g)
{
    uint32_t at = g->todo.list[g->todo.count - 1];
    fd_trace_context context = g->contexts[at];
    uint32_t wait = 0;
    g->open[at] = 1;
    context.parent = resolved(g, context.parent, &wait);
    context.origin = resolved(g, context.origin, &wait);
    if (wait != 0) {
        return fd_vector_push(&g->todo, wait);
    }
    g->todo.count--;
    return g->map[at] != 0
             ? FD_OK
             : fd_trace_add_context(g->trace, &context, &g->map[at]);
}

fd_status
fd_contexts_merge(fd_trace *trace, const fd_trace_context *contexts,
                  const bool *wanted, uint32_t count, uint32_t *map)
{
    merging g = {
        .trace = trace, .contexts = contexts, .count = count, .map = map};
    memset(map, 0, count * sizeof *map);
    g.open = fd_calloc(count, 1);
    fd_status status = g.open != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 1; i < count && status == FD_OK; i++) {
        if (map[i] == 0 && (wanted == NULL || wanted[i])) {
            status = fd_vector_push(&g.todo, i);
        }
        while (g.todo.count > 0 && status == FD_OK) {
            status = merge_pass(&g);
        }
    }
    fd_vector_clear(&g.todo);
    fd_free(g.open);
    return status;
}
