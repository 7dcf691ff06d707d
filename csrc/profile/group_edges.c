#include "profile/group_edges.h"

#include "base/map.h"

static const fd_column edge_columns[] = {
    FD_COLUMN(fd_edge, "caller", INDEX, caller),
    FD_COLUMN(fd_edge, "callee", INDEX, callee),
    FD_COLUMN(fd_edge, "calls", U64, calls),
    FD_COLUMN(fd_edge, "resumes", U64, resumes),
    FD_COLUMN_IN("ns", fd_edge, "total", U64, total),
};
const fd_table fd_edges_table =
    FD_TABLE("edges", edge_columns, fd_edge, false);

/* Return the group of the nearest context above that has one, or 0. */
static uint32_t
caller_of(const fd_trace *trace, const fd_groups *groups, uint32_t id)
{
    do {
        id = trace->contexts.list[id].parent;
    } while (id != 0 && groups->of_context[id] == 0);
    return id;
}

/* Return whether the same edge is open further up the path. */
static bool
edge_is_nested(const fd_trace *trace, const fd_groups *groups, uint32_t caller,
               uint32_t callee_group)
{
    uint32_t caller_group = groups->of_context[caller];
    uint32_t at = caller;
    while (at != 0) {
        uint32_t above = caller_of(trace, groups, at);
        if (groups->of_context[at] == callee_group && above != 0
            && groups->of_context[above] == caller_group) {
            return true;
        }
        at = above;
    }
    return false;
}

static fd_edge *
find_or_add(fd_edges *edges, fd_map *index, uint32_t caller, uint32_t callee)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint32_t at = fd_map_get(index, key);
    if (at == 0) {
        fd_edge made = {.caller = caller, .callee = callee};
        if (fd_vector_push(edges, made) != FD_OK
            || fd_map_put(index, key, edges->count) != FD_OK) {
            return NULL;
        }
        at = edges->count;
    }
    return &edges->list[at - 1];
}

FD_ORDER_BY(by_ends, fd_edge, caller, callee)

fd_status
fd_edges_sum(fd_edges *edges, const fd_trace *trace, const fd_groups *groups,
             const fd_totals *totals)
{
    fd_map index = {.entries = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 1; i < trace->contexts.count && status == FD_OK; i++) {
        uint32_t callee = groups->of_context[i];
        if (callee == 0) {
            continue;
        }
        uint32_t caller = caller_of(trace, groups, i);
        fd_edge *edge =
            find_or_add(edges, &index, groups->of_context[caller], callee);
        if (edge == NULL) {
            status = FD_ENOMEM;
            break;
        }
        edge->calls += totals->list[i].calls;
        edge->resumes += totals->list[i].resumes;
        if (!edge_is_nested(trace, groups, caller, callee)) {
            edge->total += totals->list[i].total;
        }
    }
    fd_map_clear(&index);
    fd_vector_sort(edges, by_ends);
    return status;
}
