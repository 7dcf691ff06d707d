#include "et/et_steps.h"

void
fd_et_walk(fd_et *et, uint32_t *order)
{
    uint32_t count = et->nodes.count;
    fd_arena *scratch = fd_arena_part(&et->arena);
    uint32_t *first = fd_arena_new(scratch, (size_t)count + 1, sizeof *first);
    uint32_t *next = fd_arena_new(scratch, (size_t)count + 1, sizeof *next);
    uint32_t *stack = fd_arena_new(scratch, (size_t)count + 1, sizeof *stack);
    /* Build lists of children; entry 0 of `first` has the roots. Nodes are
     * added from the last one on, so that lists ascend. */
    for (uint32_t i = count; i-- > 0;) {
        uint32_t parent = et->nodes.list[i].parent;
        next[i] = first[parent];
        first[parent] = i + 1;
    }
    uint32_t at = 0;
    uint32_t depth = 0;
    uint32_t node = first[0];
    while (node != 0) {
        order[at++] = node - 1;
        stack[depth++] = node;
        node = first[node];
        while (node == 0 && depth > 0) {
            node = next[stack[--depth] - 1];
        }
    }
    fd_arena_drop(scratch);
}

/* Return the thread of a node: the number of the operating system if known,
 * otherwise that of the root above, otherwise PyTorch's. */
static uint64_t
thread_key(const fd_et *et, uint32_t index, uint64_t above)
{
    const fd_et_node *node = &et->nodes.list[index];
    if (node->thread != 0) {
        return node->thread << 2 | 1;
    }
    if ((node->flags & FD_ET_THREAD) != 0) {
        return (uint64_t)node->tid << 2 | 2;
    }
    return above != 0 ? above : (uint64_t)node->tid << 2 | 2;
}

typedef struct threads {
    fd_map *last;   /* key -> reference of the last node of the thread */
    uint64_t *keys; /* key of each node */
} threads;

/* Add the program order of a node: it depends on the previous node of its
 * thread. This includes kernels, but no node depends on a kernel. */
static void
order_node(fd_et *et, threads *t, uint32_t index)
{
    const fd_et_node *node = &et->nodes.list[index];
    bool gpu = (node->flags & FD_ET_GPU) != 0;
    if ((node->flags & FD_ET_PROCESS) != 0) {
        return;
    }
    uint64_t above = node->parent == 0 ? 0 : t->keys[node->parent - 1];
    uint64_t key = gpu && above != 0 ? above : thread_key(et, index, above);
    t->keys[index] = key;
    /* The parent is on the thread of its root; work on another thread starts a
     * new sequence. */
    uint32_t last = fd_map_get(t->last, key);
    if (last != 0) {
        fd_et_add_edge(et, last - 1, index, gpu ? FD_ET_LAUNCH : FD_ET_ORDER);
    }
    if (!gpu) {
        fd_arena_put(&et->arena, t->last, key, index + 1);
    }
}

static void
find_order(fd_et *et, const uint32_t *order)
{
    fd_arena *scratch = fd_arena_part(&et->arena);
    threads t = {.last = fd_arena_map(scratch),
                 .keys =
                     fd_arena_new(scratch, et->nodes.count, sizeof *t.keys)};
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        order_node(et, &t, order[i]);
    }
    fd_arena_drop(scratch);
}

/* A kernel on its stream. */
typedef struct queued {
    int64_t start;
    int64_t queue;
    uint32_t index;
} queued;

FD_ORDER_BY(by_stream, queued, queue, start, index)

static void
find_streams(fd_et *et)
{
    FD_VECTOR(queued) list = {NULL, 0, 0};
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        if ((node->flags & FD_ET_GPU) != 0) {
            int64_t queue = fd_et_queue(node->device, node->stream);
            fd_arena_push(&et->arena, &list,
                          (queued){node->start_ns, queue, i});
        }
    }
    fd_vector_sort(&list, by_stream);
    for (uint32_t i = 1; i < list.count; i++) {
        if (list.list[i].queue == list.list[i - 1].queue) {
            fd_et_add_edge(et, list.list[i - 1].index, list.list[i].index,
                           FD_ET_STREAM);
        }
    }
    fd_arena_drop(list.list);
}

/* Add group edges by id, the order of starts over all threads. Messages of a
 * group are not ordered. */
static void
find_groups(fd_et *et)
{
    fd_map *last = fd_arena_map(&et->arena);
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        const fd_et_comm *comm = fd_et_comm_of(et, node);
        if (comm == NULL || node->type != FD_ET_COLL) {
            continue;
        }
        uint64_t key = (uint64_t)comm->group << 1 | 1;
        uint32_t before = fd_map_get(last, key);
        if (before != 0) {
            fd_et_add_edge(et, before - 1, i, FD_ET_GROUP);
        }
        fd_arena_put(&et->arena, last, key, i + 1);
    }
    fd_arena_drop(last);
}

static void
filter_edges(fd_et *et, uint32_t kinds)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < et->edges.count; i++) {
        fd_et_edge edge = et->edges.list[i];
        edge.kinds &= kinds;
        if (edge.kinds != 0) {
            et->edges.list[kept++] = edge;
        }
    }
    et->edges.count = kept;
}

static bool
has_kind(uint32_t kinds, fd_et_edge_kind kind)
{
    return (kinds & 1U << kind) != 0;
}

/* Add group and data edges, except those that close a cycle. `order` has one
 * entry per node. */
static void
find_derived(fd_et *et, const uint32_t *walk, uint32_t *order, uint32_t kinds)
{
    fd_et_sort_edges(et);
    fd_et_sort_order(et, order);
    uint32_t first = et->edges.count;
    find_groups(et);
    if (has_kind(kinds, FD_ET_DATA)) {
        fd_et_find_data(et, walk);
    }
    fd_et_keep_acyclic(et, order, first);
}

void
fd_et_find_edges(fd_et *et, uint32_t kinds)
{
    bool written =
        et->nodes.count > 0 && (et->nodes.list[0].flags & FD_ET_WRITTEN) != 0;
    if (!written) {
        size_t capacity = (size_t)et->nodes.count + 1;
        fd_arena *scratch = fd_arena_part(&et->arena);
        uint32_t *walk = fd_arena_new(scratch, capacity, sizeof *walk);
        uint32_t *order = fd_arena_new(scratch, capacity, sizeof *order);
        fd_et_walk(et, walk);
        find_order(et, walk);
        find_streams(et);
        if (has_kind(kinds, FD_ET_GROUP) || has_kind(kinds, FD_ET_DATA)) {
            find_derived(et, walk, order, kinds);
        }
        fd_arena_drop(scratch);
    }
    filter_edges(et, kinds);
    fd_et_sort_edges(et);
}
