#include "trace/canonical_order.h"

#include "base/hash.h"
#include "trace/trace_columns.h"

#include <stdlib.h>
#include <string.h>

/* The state of one pass over ids that are sorted by content. */
typedef struct sorting {
    fd_arena arena;
    fd_trace *trace;
    const uint32_t *node_order; /* the new id of each node */
    const uint32_t *module_order;
    const uint64_t *identity; /* of each context, independent of ids */
} sorting;

/* Used ids in their new order, 0 first. */
typedef struct id_order {
    uint32_t count;
    uint32_t *ids;
    uint32_t *places; /* by id: its index in `ids`; 0 for unused ones */
} id_order;

static int
by_text(const fd_trace *trace, uint32_t a, uint32_t b)
{
    return a == b ? 0
                  : strcmp(fd_trace_text(trace, a), fd_trace_text(trace, b));
}

static int
by_node(const void *left, const void *right, void *context)
{
    const fd_trace *trace = ((const sorting *)context)->trace;
    const fd_trace_node *a = &trace->nodes.list[*(const uint32_t *)left];
    const fd_trace_node *b = &trace->nodes.list[*(const uint32_t *)right];
    int order = FD_ORDER(a->kind, b->kind);
    order = order != 0 ? order : by_text(trace, a->file, b->file);
    order = order != 0 ? order : by_text(trace, a->class_name, b->class_name);
    order = order != 0 ? order : by_text(trace, a->name, b->name);
    return order != 0 ? order : FD_ORDER(a->line, b->line);
}

static int
module_depth(const fd_trace *trace, uint32_t id)
{
    int depth = 0;
    for (; id != 0; id = trace->modules.list[id].parent) {
        depth++;
    }
    return depth;
}

/* Order modules by depth, so that parents precede children, then by the texts
 * of the path. */
static int
by_module(const void *left, const void *right, void *context)
{
    const fd_trace *trace = ((const sorting *)context)->trace;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    int order = module_depth(trace, a) - module_depth(trace, b);
    while (order == 0 && a != b) {
        const fd_trace_module *x = &trace->modules.list[a];
        const fd_trace_module *y = &trace->modules.list[b];
        order = by_text(trace, x->name, y->name);
        order =
            order != 0 ? order : by_text(trace, x->class_name, y->class_name);
        a = x->parent;
        b = y->parent;
    }
    return order;
}

static int
by_context(const void *left, const void *right, void *context)
{
    const sorting *s = context;
    uint32_t i = *(const uint32_t *)left;
    uint32_t k = *(const uint32_t *)right;
    const fd_trace_context *a = &s->trace->contexts.list[i];
    const fd_trace_context *b = &s->trace->contexts.list[k];
    int order = FD_ORDER(s->node_order[a->node], s->node_order[b->node]);
    if (order == 0) {
        order =
            FD_ORDER(s->module_order[a->module], s->module_order[b->module]);
    }
    return order != 0 ? order : FD_ORDER(s->identity[i], s->identity[k]);
}

/* Sort the used ids; `used` NULL: all are used. */
static id_order
sorted_ids(sorting *s, uint32_t count, const bool *used,
           int (*compare)(const void *, const void *, void *))
{
    id_order made = {1, fd_arena_new(&s->arena, count, sizeof *made.ids),
                     fd_arena_new(&s->arena, count, sizeof *made.places)};
    for (uint32_t i = 1; i < count; i++) {
        if (used == NULL || used[i]) {
            made.ids[made.count++] = i;
        }
    }
    qsort_r(made.ids + 1, made.count - 1, sizeof *made.ids, compare, s);
    for (uint32_t i = 1; i < made.count; i++) {
        made.places[made.ids[i]] = i;
    }
    return made;
}

/* Return a hash of the identity of each context: its own text, that of its
 * parents and of its origin. Both have lower ids, because fd_contexts_merge
 * adds them first. */
static uint64_t *
context_identities(sorting *s)
{
    const fd_trace *trace = s->trace;
    uint64_t *identity =
        fd_arena_new(&s->arena, trace->contexts.count, sizeof *identity);
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        uint64_t own = (uint64_t)s->node_order[context->node] << 32
                     | s->module_order[context->module];
        identity[i] =
            fd_hash_next(fd_hash_next(identity[context->parent], own),
                         identity[context->origin]);
    }
    return identity;
}

/* Group the children of every context: those of p are children[first[p]] up to
 * children[first[p + 1]], in the order of `siblings`. */
static void
group_by_parent(const fd_trace *trace, const uint32_t *siblings,
                uint32_t *first, uint32_t *children)
{
    uint32_t count = trace->contexts.count;
    for (uint32_t i = 1; i < count; i++) {
        first[trace->contexts.list[i].parent + 2]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        first[i + 2] += first[i + 1];
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t parent = trace->contexts.list[siblings[i]].parent;
        children[first[parent + 1]++] = siblings[i];
    }
}

/* Return ids depth first, with siblings in the given order. */
static uint32_t *
depth_first(sorting *s, const uint32_t *siblings)
{
    uint32_t count = s->trace->contexts.count;
    uint32_t *order = fd_arena_new(&s->arena, count, sizeof *order);
    uint32_t *first = fd_arena_new(&s->arena, count + 2, sizeof *first);
    uint32_t *children = fd_arena_new(&s->arena, count, sizeof *children);
    FD_VECTOR(uint32_t) todo = {NULL, 0, 0};
    uint32_t placed = 0;
    group_by_parent(s->trace, siblings, first, children);
    fd_arena_push(&s->arena, &todo, 0);
    while (todo.count > 0) {
        uint32_t id = todo.list[--todo.count];
        order[placed++] = id;
        for (uint32_t i = first[id + 1]; i-- > first[id];) {
            fd_arena_push(&s->arena, &todo, children[i]);
        }
    }
    return order;
}

/* Sort rows. Most lists are sorted already, because they are from a sorted
 * trace. */
static void
sort_rows(void *list, uint32_t count, size_t size,
          int (*compare)(const void *, const void *))
{
    const char *row = list;
    uint32_t i = 1;
    while (i < count && compare(row, row + size) <= 0) {
        row += size;
        i++;
    }
    if (i < count) {
        qsort(list, count, size, compare);
    }
}

FD_ORDER_OF(by_first_member, uint32_t)

/* Sort the tables whose first member is a context. */
static void
sort_tables(fd_trace_rank *rank)
{
    for (int i = 0; i < FD_RANK_TABLES; i++) {
        const fd_table *table = fd_rank_tables[i].table;
        const fd_rank_list *rows = fd_rank_rows(rank, i);
        if (fd_table_is_keyed(table) && table != &fd_measures_table) {
            sort_rows(rows->list, rows->count, table->row_bytes,
                      by_first_member);
        }
    }
}

static int
by_measure(const void *left, const void *right, void *context)
{
    const fd_trace_measure *a = left;
    const fd_trace_measure *b = right;
    int order = FD_ORDER(a->context, b->context);
    order = order != 0 ? order : FD_ORDER(a->kind, b->kind);
    order = order != 0 ? order : FD_ORDER(a->flags, b->flags);
    order = order != 0 ? order : by_text(context, a->detail, b->detail);
    return order != 0 ? order : FD_ORDER(a->count, b->count);
}

FD_ORDER_AS(by_rank, fd_trace_rank, FD_UP(rank), strcmp(one->id, other->id))

/* Move element ids[i] to position i. */
static void
move_elements(sorting *s, void *list, uint32_t count, size_t size,
              const uint32_t *ids)
{
    char *moved = fd_arena_new(&s->arena, count, size);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(moved + i * size, (char *)list + ids[i] * size, size);
    }
    memcpy(list, moved, count * size);
    fd_arena_drop(moved);
}

/* Keep these elements of a vector, in this order. */
#define KEEP_ELEMENTS(s, vector, new_count, ids) \
    (move_elements((s), (vector)->list, (new_count), sizeof *(vector)->list, \
                   (ids)), \
     (vector)->count = (new_count))

static void
renumber_contexts(fd_trace *trace, const sorting *s, uint32_t *index)
{
    for (uint32_t i = 0; i < trace->contexts.count; i++) {
        fd_trace_context *context = &trace->contexts.list[i];
        context->parent = index[context->parent];
        context->origin = index[context->origin];
        context->node = s->node_order[context->node];
        context->module = s->module_order[context->module];
    }
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        fd_trace_rank *rank = &trace->ranks.list[i];
        fd_rank_visit(rank, FD_COLUMN_CONTEXT, fd_visit_renumber, index);
        sort_tables(rank);
        if (rank->measures.count > 0) {
            qsort_r(rank->measures.list, rank->measures.count,
                    sizeof *rank->measures.list, by_measure, trace);
        }
    }
}

static void
sort_contexts(sorting *s)
{
    uint32_t count = s->trace->contexts.count;
    s->identity = context_identities(s);
    id_order siblings = sorted_ids(s, count, NULL, by_context);
    uint32_t *order = depth_first(s, siblings.ids);
    KEEP_ELEMENTS(s, &s->trace->contexts, count, order);
    for (uint32_t i = 0; i < count; i++) {
        siblings.places[order[i]] = i;
    }
    renumber_contexts(s->trace, s, siblings.places);
}

static bool
same_key(const fd_trace_node *a, const fd_trace_node *b)
{
    return a->kind == b->kind && a->file == b->file
        && a->class_name == b->class_name && a->name == b->name;
}

static void
mark_ambiguous(fd_trace *trace)
{
    for (uint32_t i = 2; i < trace->nodes.count; i++) {
        fd_trace_node *a = &trace->nodes.list[i - 1];
        fd_trace_node *b = &trace->nodes.list[i];
        if (same_key(a, b)) {
            a->ambiguous = true;
            b->ambiguous = true;
        }
    }
}

/* Mark nodes and modules that contexts refer to, and the parents of those
 * modules. */
static void
mark_used(const fd_trace *trace, bool *nodes, bool *modules)
{
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        nodes[trace->contexts.list[i].node] = true;
        modules[trace->contexts.list[i].module] = true;
    }
    for (uint32_t i = trace->modules.count; i-- > 1;) {
        if (modules[i]) {
            modules[trace->modules.list[i].parent] = true;
        }
    }
}

/* Sort nodes, modules and contexts. */
static void
sort_shared(sorting *s)
{
    fd_trace *trace = s->trace;
    bool *used = fd_arena_new(&s->arena, trace->nodes.count, sizeof *used);
    bool *held = fd_arena_new(&s->arena, trace->modules.count, sizeof *held);
    mark_used(trace, used, held);
    id_order nodes = sorted_ids(s, trace->nodes.count, used, by_node);
    id_order modules = sorted_ids(s, trace->modules.count, held, by_module);
    s->node_order = nodes.places;
    s->module_order = modules.places;
    sort_contexts(s);
    KEEP_ELEMENTS(s, &trace->nodes, nodes.count, nodes.ids);
    KEEP_ELEMENTS(s, &trace->modules, modules.count, modules.ids);
    for (uint32_t i = 0; i < trace->modules.count; i++) {
        fd_trace_module *module = &trace->modules.list[i];
        module->parent = modules.places[module->parent];
    }
    mark_ambiguous(trace);
    /* The indexes of fd_trace_add_* contain old ids. */
    fd_index_clear(&trace->node_index);
    fd_index_clear(&trace->module_index);
    fd_index_clear(&trace->context_index);
}

static fd_status
sort_parts(sorting *s)
{
    if (fd_arena_caught(&s->arena, NULL)) {
        return s->arena.status;
    }
    sort_shared(s);
    fd_sort_texts(&s->arena, s->trace);
    return fd_arena_left(&s->arena);
}

fd_status
fd_trace_sort(fd_trace *trace)
{
    sorting s = {.trace = trace};
    fd_status status = trace->sorted ? FD_OK : sort_parts(&s);
    fd_arena_clear(&s.arena);
    if (status == FD_OK && !trace->sorted) {
        fd_vector_sort(&trace->ranks, by_rank);
        trace->sorted = true;
    }
    return status;
}
