#include "trace/trace_merge.h"

#include "trace/canonical_order.h"
#include "trace/trace_columns.h"

#include <string.h>

const char *
fd_merge_run_id(const fd_trace *trace, const fd_trace_rank *rank)
{
    const char *id = fd_rank_fact(trace, rank, "run_id");
    return id != NULL ? id : "";
}

static fd_status
check_ranks(const fd_trace *into, const fd_trace *from, const char *name,
            const fd_trace_rank *rank, fd_error *error)
{
    const char *run = fd_merge_run_id(from, rank);
    const char *other_run = ""; /* run id of all ranks that have one */
    for (uint32_t i = 0; i < into->ranks.count; i++) {
        const fd_trace_rank *other = &into->ranks.list[i];
        if (other_run[0] == '\0') {
            other_run = fd_merge_run_id(into, other);
        }
        if (other->rank == rank->rank && rank->reduced > 0) {
            return fd_fail(error, FD_ECONFLICT,
                           "%s: a second sum of ranks: write the "
                           "recordings of both into one data set",
                           name);
        }
        if (other->rank == rank->rank) {
            return fd_fail(error, FD_ECONFLICT,
                           "%s: rank %u is there already (recording %.8s, "
                           "this one is %.8s): give one of them",
                           name, rank->rank, other->id, rank->id);
        }
        if (run[0] != '\0' && other_run[0] != '\0'
            && strcmp(run, other_run) != 0) {
            return fd_fail(error, FD_ECONFLICT,
                           "%s: rank %u belongs to run %s, the others to run "
                           "%s: merge one run at a time",
                           name, rank->rank, run, other_run);
        }
    }
    return FD_OK;
}

static void
map_texts(fd_trace *into, const fd_trace *from, fd_merge_ids *ids)
{
    for (uint32_t i = 1; i < from->texts.texts.count; i++) {
        fd_arena_check(&ids->arena,
                       fd_text_pool_add(&into->texts, fd_trace_text(from, i),
                                        fd_text_pool_size(&from->texts, i),
                                        &ids->texts[i]));
    }
}

static void
map_nodes(fd_trace *into, const fd_trace *from, fd_merge_ids *ids)
{
    for (uint32_t i = 1; i < from->nodes.count; i++) {
        fd_trace_node node = from->nodes.list[i];
        node.ambiguous = false;
        fd_table_visit(&fd_nodes_table, &node, 1, FD_COLUMN_TEXT,
                       fd_visit_renumber, ids->texts);
        fd_arena_check(&ids->arena,
                       fd_trace_add_node(into, &node, &ids->nodes[i]));
    }
}

static void
map_modules(fd_trace *into, const fd_trace *from, fd_merge_ids *ids)
{
    for (uint32_t i = 1; i < from->modules.count; i++) {
        fd_trace_module module = from->modules.list[i];
        module.parent = ids->modules[module.parent];
        fd_table_visit(&fd_modules_table, &module, 1, FD_COLUMN_TEXT,
                       fd_visit_renumber, ids->texts);
        fd_arena_check(&ids->arena,
                       fd_trace_add_module(into, &module, &ids->modules[i]));
    }
}

static void
map_contexts(fd_trace *into, const fd_trace *from, fd_merge_ids *ids)
{
    uint32_t count = from->contexts.count;
    fd_trace_context *contexts =
        fd_arena_new(&ids->arena, count, sizeof *contexts);
    for (uint32_t i = 0; i < count; i++) {
        contexts[i] = from->contexts.list[i];
        contexts[i].node = ids->nodes[contexts[i].node];
        contexts[i].module = ids->modules[contexts[i].module];
    }
    fd_arena_check(&ids->arena, fd_contexts_merge(into, contexts, ids->wanted,
                                                  count, ids->contexts));
}

static uint32_t *
new_ids(fd_merge_ids *ids, uint32_t count)
{
    return fd_arena_new(&ids->arena, count, sizeof(uint32_t));
}

fd_status
fd_merge_shared(fd_trace *into, const fd_trace *from, fd_merge_ids *ids)
{
    if (fd_arena_caught(&ids->arena, NULL)) {
        return ids->arena.status;
    }
    ids->texts = new_ids(ids, from->texts.texts.count + 1);
    ids->nodes = new_ids(ids, from->nodes.count);
    ids->modules = new_ids(ids, from->modules.count);
    ids->contexts = new_ids(ids, from->contexts.count);
    map_texts(into, from, ids);
    map_nodes(into, from, ids);
    map_modules(into, from, ids);
    map_contexts(into, from, ids);
    return fd_arena_left(&ids->arena);
}

static fd_status
copy_rank(fd_trace_rank *to, const fd_trace_rank *from)
{
    fd_status status = FD_OK;
    *to = *from;
    for (int i = 0; i < FD_RANK_TABLES; i++) {
        const fd_rank_list *rows = fd_rank_rows(from, i);
        size_t size = rows->count * fd_rank_tables[i].table->row_bytes;
        void *copy = size > 0 && status == FD_OK ? fd_malloc(size) : NULL;
        uint32_t count = copy != NULL ? rows->count : 0;
        if (count > 0) {
            memcpy(copy, rows->list, size);
        }
        status = count < rows->count ? FD_ENOMEM : status;
        *fd_rank_rows(to, i) = (fd_rank_list){copy, count, count};
    }
    return status;
}

static void
renumber_rank(fd_trace_rank *rank, const fd_merge_ids *m)
{
    fd_rank_visit(rank, FD_COLUMN_CONTEXT, fd_visit_renumber, m->contexts);
    fd_rank_visit(rank, FD_COLUMN_TEXT, fd_visit_renumber, m->texts);
}

fd_status
fd_merge_ranks(fd_trace *into, const fd_trace *from, const fd_merge_ids *m)
{
    for (uint32_t i = 0; i < from->ranks.count; i++) {
        fd_trace_rank rank;
        fd_status status = copy_rank(&rank, &from->ranks.list[i]);
        if (status == FD_OK) {
            renumber_rank(&rank, m);
            status = fd_vector_push(&into->ranks, rank);
        }
        if (status != FD_OK) {
            fd_trace_rank_clear(&rank);
            return status;
        }
    }
    return FD_OK;
}

/* Move the ranks of `from` with their lists to `into`. */
static fd_status
take_ranks(fd_trace *into, fd_trace *from, const fd_merge_ids *m)
{
    if (fd_vector_reserve(&into->ranks, from->ranks.count) != FD_OK) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < from->ranks.count; i++) {
        renumber_rank(&from->ranks.list[i], m);
        into->ranks.list[into->ranks.count++] = from->ranks.list[i];
    }
    from->ranks.count = 0;
    return FD_OK;
}

fd_status
fd_merge_take(fd_trace *into, fd_trace *from, const char *name,
              fd_error *error)
{
    fd_merge_ids ids = {.texts = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < from->ranks.count && status == FD_OK; i++) {
        status = check_ranks(into, from, name, &from->ranks.list[i], error);
    }
    if (status != FD_OK) {
        return status;
    }
    status = fd_merge_shared(into, from, &ids);
    fd_then(status, take_ranks(into, from, &ids));
    fd_arena_clear(&ids.arena);
    return status == FD_OK
             ? FD_OK
             : fd_fail(error, status, "%s: %s", name, fd_status_name(status));
}

typedef struct merging {
    fd_trace *trace;
    const fd_trace_context *contexts;
    uint32_t count;
    uint32_t *map;
    uint8_t *open; /* 1 while the parents of a context are being added */
    FD_VECTOR(uint32_t) todo;
} merging;

/* Return the new id of `id`: 0 for "none", an index out of range, or a cycle.
 * Set `wait` if it must be added first. */
static uint32_t
resolved_id(const merging *g, uint32_t id, uint32_t *wait)
{
    if (id == 0 || id >= g->count) {
        return 0;
    }
    if (g->map[id] == 0 && g->open[id] == 0) {
        *wait = id;
    }
    return g->map[id];
}

/* Add the context on top of the stack, or push its dependencies. */
static fd_status
merge_pass(merging *g)
{
    uint32_t at = g->todo.list[g->todo.count - 1];
    fd_trace_context context = g->contexts[at];
    uint32_t wait = 0;
    g->open[at] = 1;
    context.parent = resolved_id(g, context.parent, &wait);
    context.origin = resolved_id(g, context.origin, &wait);
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
