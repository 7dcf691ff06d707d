#include "et/et_steps.h"

#include <stdlib.h>

/* The algorithm of Pearce and Kelly: nodes have ranks in a topological order.
 * An edge against that order moves only the nodes between its ends. */

/* Nodes visited in all searches, per node and edge of the graph: beyond that,
 * edges against the order are dropped. */
enum { EFFORT = 64 };

typedef struct ranked {
    uint32_t rank;
    uint32_t index;
} ranked;

typedef FD_VECTOR(ranked) ranked_list;

typedef struct ordering {
    fd_arena *scratch;
    const fd_et_edge *edges;
    uint32_t *rank;     /* per node */
    uint32_t *first[2]; /* per node, first edge out of it and into it, + 1
                         * ... */
    uint32_t *next[2];  /* ... and per edge, the next edge of that node */
    uint32_t *mark;     /* per node, the last search that visited it */
    uint32_t round;
    uint64_t effort;      /* remaining number of visits */
    ranked_list sides[2]; /* nodes reached from `to`, and nodes that reach
                           * `from` */
    uint32_t *ranks;      /* temporary, for one search */
} ordering;

static void
connect_edge(ordering *o, uint32_t edge)
{
    uint32_t ends[2] = {o->edges[edge].from, o->edges[edge].to};
    for (int i = 0; i < 2; i++) {
        o->next[i][edge] = o->first[i][ends[i]];
        o->first[i][ends[i]] = edge + 1;
    }
}

static void
prepare_ordering(ordering *o, fd_et *et, const uint32_t *order, uint32_t first)
{
    size_t nodes = (size_t)et->nodes.count + 1;
    size_t edges = (size_t)et->edges.count + 1;
    *o = (ordering){.scratch = fd_arena_part(&et->arena),
                    .edges = et->edges.list,
                    .effort = EFFORT * (uint64_t)(nodes + edges)};
    o->rank = fd_arena_new(o->scratch, nodes, sizeof *o->rank);
    o->mark = fd_arena_new(o->scratch, nodes, sizeof *o->mark);
    o->ranks = fd_arena_new(o->scratch, nodes, sizeof *o->ranks);
    for (int i = 0; i < 2; i++) {
        o->first[i] = fd_arena_new(o->scratch, nodes, sizeof **o->first);
        o->next[i] = fd_arena_new(o->scratch, edges, sizeof **o->next);
    }
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        o->rank[order[i]] = i;
    }
    for (uint32_t i = 0; i < first; i++) {
        connect_edge(o, i);
    }
}

static void
visit_node(ordering *o, int side, uint32_t index)
{
    if (o->mark[index] == o->round) {
        return;
    }
    o->mark[index] = o->round;
    o->effort -= o->effort > 0;
    fd_arena_push(o->scratch, &o->sides[side],
                  (ranked){o->rank[index], index});
}

/* List the nodes that are reached from one end of an edge without passing the
 * rank of its other end: forward from `to`, or backward from `from`. */
static void
search_side(ordering *o, int side, uint32_t begin, uint32_t limit)
{
    o->round++;
    o->sides[side].count = 0;
    visit_node(o, side, begin);
    for (uint32_t i = 0; i < o->sides[side].count; i++) {
        uint32_t at = o->first[side][o->sides[side].list[i].index];
        while (at != 0) {
            const fd_et_edge *edge = &o->edges[at - 1];
            uint32_t index = side == 0 ? edge->to : edge->from;
            if (side == 0 ? o->rank[index] <= limit
                          : o->rank[index] >= limit) {
                visit_node(o, side, index);
            }
            at = o->next[side][at - 1];
        }
    }
}

FD_ORDER_BY(by_rank, ranked, rank)

FD_ORDER_OF(by_number, uint32_t)

/* Assign the ranks of both sides again: the nodes before the edge get the
 * lowest. */
static void
reorder_nodes(ordering *o)
{
    uint32_t count = 0;
    for (int side = 1; side >= 0; side--) {
        ranked_list *list = &o->sides[side];
        fd_vector_sort(list, by_rank);
        for (uint32_t i = 0; i < list->count; i++) {
            o->ranks[count++] = list->list[i].rank;
        }
    }
    qsort(o->ranks, count, sizeof *o->ranks, by_number);
    count = 0;
    for (int side = 1; side >= 0; side--) {
        for (uint32_t i = 0; i < o->sides[side].count; i++) {
            o->rank[o->sides[side].list[i].index] = o->ranks[count++];
        }
    }
}

/* Insert an edge. Return false if it closes a cycle, or if the search is too
 * expensive. */
static bool
insert_edge(ordering *o, uint32_t edge)
{
    uint32_t from = o->edges[edge].from;
    uint32_t to = o->edges[edge].to;
    if (o->rank[from] > o->rank[to]) {
        if (o->effort == 0) {
            return false;
        }
        search_side(o, 0, to, o->rank[from]);
        if (o->mark[from] == o->round) {
            return false;
        }
        search_side(o, 1, from, o->rank[to]);
        reorder_nodes(o);
    }
    connect_edge(o, edge);
    return true;
}

void
fd_et_keep_acyclic(fd_et *et, const uint32_t *order, uint32_t first)
{
    ordering o;
    uint32_t kept = first;
    prepare_ordering(&o, et, order, first);
    for (uint32_t i = first; i < et->edges.count; i++) {
        et->edges.list[kept] = et->edges.list[i];
        kept += insert_edge(&o, kept);
    }
    et->edges.count = kept;
    fd_arena_drop(o.scratch);
}
