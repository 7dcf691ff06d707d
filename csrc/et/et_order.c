#include "et/et_steps.h"

#include <string.h>

enum { NONE = UINT32_MAX };

/* Ready nodes, the lowest index on top. */
typedef struct heap {
    uint32_t *list;
    uint32_t count;
} heap;

static void
heap_push(heap *h, uint32_t index)
{
    uint32_t at = h->count++;
    while (at > 0 && h->list[(at - 1) / 2] > index) {
        h->list[at] = h->list[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->list[at] = index;
}

static uint32_t
heap_pop(heap *h)
{
    uint32_t top = h->list[0];
    uint32_t last = h->list[--h->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= h->count) {
            break;
        }
        child += child + 1 < h->count && h->list[child + 1] < h->list[child];
        if (h->list[child] >= last) {
            break;
        }
        h->list[at] = h->list[child];
        at = child;
    }
    h->list[at] = last;
    return top;
}

/* The state of the sort. Edges are sorted by `to`: those into node n are
 * [into[n], into[n + 1]). */
typedef struct sorting {
    fd_et *et;
    fd_arena *scratch;
    uint32_t *into;
    uint32_t *from;  /* the same edges sorted by `from`, as indices in `edges`
                      * ... */
    uint32_t *begin; /* ... starting at begin[n] for node n */
    uint32_t *waits; /* per node, number of edges from nodes that are not in
                      * the order yet */
    uint32_t *mark;
    bool *gone; /* edges that were removed */
    bool *done;
    heap ready;
} sorting;

static void
prepare_sorting(sorting *s)
{
    size_t nodes = (size_t)s->et->nodes.count + 2;
    size_t edges = (size_t)s->et->edges.count + 1;
    s->scratch = fd_arena_part(&s->et->arena);
    s->into = fd_arena_new(s->scratch, nodes, sizeof *s->into);
    s->begin = fd_arena_new(s->scratch, nodes, sizeof *s->begin);
    s->from = fd_arena_new(s->scratch, edges, sizeof *s->from);
    s->waits = fd_arena_new(s->scratch, nodes, sizeof *s->waits);
    s->mark = fd_arena_new(s->scratch, nodes, sizeof *s->mark);
    s->gone = fd_arena_new(s->scratch, edges, sizeof *s->gone);
    s->done = fd_arena_new(s->scratch, nodes, sizeof *s->done);
    s->ready.list = fd_arena_new(s->scratch, nodes, sizeof *s->ready.list);
    const fd_et_edge *list = s->et->edges.list;
    for (uint32_t i = 0; i < s->et->edges.count; i++) {
        s->into[list[i].to + 1]++;
        s->begin[list[i].from + 1]++;
        s->waits[list[i].to]++;
    }
    for (uint32_t i = 1; i < nodes; i++) {
        s->into[i] += s->into[i - 1];
        s->begin[i] += s->begin[i - 1];
    }
    for (uint32_t i = 0; i < s->et->edges.count; i++) {
        s->from[s->begin[list[i].from] + s->mark[list[i].from]++] = i;
    }
    memset(s->mark, 0, nodes * sizeof *s->mark);
}

/* Return the certainty of an edge: that of its most certain kind. */
static uint32_t
edge_sureness(uint32_t kinds)
{
    static const fd_et_edge_kind sure[] = {
        FD_ET_DATA,   FD_ET_GROUP, FD_ET_EVENT,  FD_ET_SYNC,
        FD_ET_STREAM, FD_ET_GIVEN, FD_ET_LAUNCH, FD_ET_ORDER};
    uint32_t found = 0;
    for (uint32_t i = 0; i < FD_ET_KINDS; i++) {
        found = (kinds & 1U << sure[i]) != 0 ? i : found;
    }
    return found;
}

/* Return an edge into `index` from a node that is not in the order yet. */
static uint32_t
unmet_edge(const sorting *s, uint32_t index)
{
    for (uint32_t i = s->into[index]; i < s->into[index + 1]; i++) {
        if (!s->gone[i] && !s->done[s->et->edges.list[i].from]) {
            return i;
        }
    }
    return NONE;
}

/* Count a cycle, if the file states one of its edges: a cycle of derived edges
 * alone is not a fault of the file. */
static void
count_cycle(fd_et *et, uint32_t kinds, const fd_et_edge *dropped)
{
    const uint32_t stated =
        1U << FD_ET_GIVEN | 1U << FD_ET_SYNC | 1U << FD_ET_EVENT;
    const fd_et_node *from = &et->nodes.list[dropped->from];
    const fd_et_node *to = &et->nodes.list[dropped->to];
    if ((et->nodes.list[0].flags & FD_ET_WRITTEN) == 0
        && (kinds & stated) == 0) {
        return;
    }
    for (int i = 0; i < FD_ET_KINDS; i++) {
        et->faults.cut[i] += (dropped->kinds >> i) & 1;
    }
    if (et->faults.cycles++ == 0) {
        et->faults.cycle =
            (fd_et_cycle){from->id, to->id, from->name, to->name, kinds};
    }
}

/* Cut a cycle when no node is ready: walk back from the lowest waiting node
 * until a node repeats, and remove the edge with the lowest certainty. */
static void
cut_cycle(sorting *s, uint32_t lowest, uint32_t round)
{
    fd_et *et = s->et;
    uint32_t at = lowest;
    while (s->mark[at] != round) {
        s->mark[at] = round;
        at = et->edges.list[unmet_edge(s, at)].from;
    }
    uint32_t first = at;
    uint32_t worst = NONE;
    uint32_t kinds = 0;
    do {
        uint32_t i = unmet_edge(s, at);
        const fd_et_edge *edge = &et->edges.list[i];
        kinds |= edge->kinds;
        bool less = worst == NONE
                 || edge_sureness(edge->kinds)
                        < edge_sureness(et->edges.list[worst].kinds)
                 || (edge_sureness(edge->kinds)
                         == edge_sureness(et->edges.list[worst].kinds)
                     && edge->from > edge->to);
        worst = less ? i : worst;
        at = edge->from;
    } while (at != first);
    count_cycle(et, kinds, &et->edges.list[worst]);
    s->gone[worst] = true;
    uint32_t to = et->edges.list[worst].to;
    if (--s->waits[to] == 0) {
        heap_push(&s->ready, to);
    }
}

static void
take_all(sorting *s, uint32_t *order)
{
    fd_et *et = s->et;
    uint32_t taken = 0;
    uint32_t lowest = 0;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        if (s->waits[i] == 0) {
            heap_push(&s->ready, i);
        }
    }
    for (uint32_t round = 1; taken < et->nodes.count;) {
        if (s->ready.count == 0) {
            while (s->done[lowest]) {
                lowest++;
            }
            cut_cycle(s, lowest, round++);
            continue;
        }
        uint32_t index = heap_pop(&s->ready);
        order[taken++] = index;
        s->done[index] = true;
        for (uint32_t i = s->begin[index]; i < s->begin[index + 1]; i++) {
            uint32_t edge = s->from[i];
            uint32_t to = et->edges.list[edge].to;
            if (!s->gone[edge] && --s->waits[to] == 0) {
                heap_push(&s->ready, to);
            }
        }
    }
}

static void
drop_gone(sorting *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->et->edges.count; i++) {
        if (!s->gone[i]) {
            s->et->edges.list[kept++] = s->et->edges.list[i];
        }
    }
    s->et->edges.count = kept;
}

static bool
order_ascends(const fd_et *et)
{
    for (uint32_t i = 0; i < et->edges.count; i++) {
        if (et->edges.list[i].from > et->edges.list[i].to) {
            return false;
        }
    }
    return true;
}

void
fd_et_sort_order(fd_et *et, uint32_t *order)
{
    if (order_ascends(et)) {
        for (uint32_t i = 0; i < et->nodes.count; i++) {
            order[i] = i;
        }
        return;
    }
    sorting s = {.et = et};
    prepare_sorting(&s);
    take_all(&s, order);
    drop_gone(&s);
    fd_arena_drop(s.scratch);
}

/* Replace old indexes in nodes and edges by new ones. */
static void
rename_places(fd_et *et, const uint32_t *order, const uint32_t *now,
              fd_et_node *moved)
{
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_node node = et->nodes.list[order[i]];
        uint32_t origin = fd_et_index(et, node.fw_parent);
        node.fw_parent = origin != 0 && node.fw_parent != 0
                           ? (uint64_t)now[origin - 1] + 1
                           : 0;
        node.id = (uint64_t)i + 1;
        node.parent_id =
            node.parent == 0 ? node.id : (uint64_t)now[node.parent - 1] + 1;
        moved[i] = node;
    }
    for (uint32_t i = 0; i < et->edges.count; i++) {
        fd_et_edge *edge = &et->edges.list[i];
        edge->from = now[edge->from];
        edge->to = now[edge->to];
    }
}

void
fd_et_renumber(fd_et *et, const uint32_t *order)
{
    uint32_t count = et->nodes.count;
    uint32_t *now = fd_arena_new(&et->arena, count, sizeof *now);
    fd_et_node *moved = fd_arena_new(&et->arena, count, sizeof *moved);
    for (uint32_t i = 0; i < count; i++) {
        now[order[i]] = i;
    }
    rename_places(et, order, now, moved);
    fd_arena_drop(now);
    fd_arena_drop(et->nodes.list);
    et->nodes.list = moved;
    et->nodes.capacity = count;
    et->faults.renumbered = count;
    fd_et_finish(et);
    fd_et_sort_edges(et);
}

void
fd_et_arrange(fd_et *et)
{
    if (et->nodes.count == 0 || order_ascends(et)) {
        return;
    }
    uint32_t *order = fd_arena_new(&et->arena, et->nodes.count, sizeof *order);
    fd_et_sort_order(et, order);
    if (!order_ascends(et)) {
        fd_et_renumber(et, order);
    }
    fd_arena_drop(order);
}
