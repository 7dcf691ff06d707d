#include "export/regions.h"

#include "base/map.h"

enum { LEAVES_A_LINE = 5 };

/* By box: the box that spends most in calling it, among those that come
 * before it in the call tree (so that there is no cycle); 0 without. */
static fd_status
main_callers(const fd_graph *graph, uint32_t **callers)
{
    uint32_t *list = fd_calloc(graph->boxes.count + 1, sizeof *list);
    uint64_t *most = fd_calloc(graph->boxes.count + 1, sizeof *most);
    if (list == NULL || most == NULL) {
        fd_free(list);
        fd_free(most);
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const fd_edge *edge = &graph->edges.list[i];
        uint32_t caller = graph->box_of[edge->caller];
        uint32_t callee = graph->box_of[edge->callee];
        if (caller < callee
            && (list[callee] == 0 || edge->total > most[callee])) {
            list[callee] = caller;
            most[callee] = edge->total;
        }
    }
    fd_free(most);
    *callers = list;
    return FD_OK;
}

/* The region of `package` below region `above`. */
static uint32_t
region_below(fd_graph *graph, fd_map *known, uint32_t above,
             uint32_t package)
{
    uint64_t key = (uint64_t)above << 32 | package;
    uint32_t region = fd_map_get(known, key);
    if (region != 0) {
        return region;
    }
    return fd_map_put(known, key, graph->regions + 1) == FD_OK
               ? ++graph->regions
               : 0;
}

fd_status
fd_regions_make(fd_graph *graph)
{
    fd_map known = {.entries = NULL};
    uint32_t *callers = NULL;
    fd_status status = main_callers(graph, &callers);
    for (uint32_t i = 0; i < graph->boxes.count && status == FD_OK; i++) {
        fd_box *box = &graph->boxes.list[i];
        uint32_t at = callers[i + 1];
        const fd_box *caller = at == 0 ? NULL : &graph->boxes.list[at - 1];
        box->region = caller != NULL && caller->package == box->package
                          ? caller->region
                          : region_below(graph, &known,
                                         caller == NULL ? 0 : caller->region,
                                         box->package);
        status = box->region == 0 ? FD_ENOMEM : FD_OK;
    }
    fd_map_clear(&known);
    fd_free(callers);
    return status;
}

static void
find_callers(const fd_graph *graph, bool *calls)
{
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const fd_edge *edge = &graph->edges.list[i];
        uint32_t caller = graph->box_of[edge->caller];
        calls[caller] = calls[caller] || edge->caller != edge->callee;
    }
}

/* Line after line: each leaf below the one that came a line's length before
 * it. */
static fd_status
stack_region(fd_graph *graph, const bool *calls, uint32_t region)
{
    FD_VECTOR(uint32_t) leaves = {NULL, 0, 0};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < graph->boxes.count && status == FD_OK; i++) {
        if (graph->boxes.list[i].region == region && !calls[i + 1]) {
            status = fd_vector_push(&leaves, i);
        }
    }
    uint32_t lines = (leaves.count + LEAVES_A_LINE - 1) / LEAVES_A_LINE;
    uint32_t length = lines > 0 ? (leaves.count + lines - 1) / lines : 1;
    for (uint32_t i = length; i < leaves.count && status == FD_OK; i++) {
        graph->boxes.list[leaves.list[i]].above = leaves.list[i - length] + 1;
    }
    fd_vector_clear(&leaves);
    return status;
}

fd_status
fd_regions_stack(fd_graph *graph)
{
    bool *calls = fd_calloc(graph->boxes.count + 1, sizeof *calls);
    if (calls == NULL) {
        return FD_ENOMEM;
    }
    find_callers(graph, calls);
    fd_status status = FD_OK;
    for (uint32_t r = 1; r <= graph->regions && status == FD_OK; r++) {
        status = stack_region(graph, calls, r);
    }
    fd_free(calls);
    return status;
}
