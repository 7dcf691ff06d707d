#include "graphs/graph_regions.h"

#include "base/map.h"

enum { LEAVES_A_LINE = 4, CLASSIC_LEAVES = 12 };

/* Find the main caller of each box: the one that spends most time in it, among
 * those before it in the call tree (so that there is no cycle); 0: no
 * caller. */
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

/* Return the region of `package` below region `above`. */
static uint32_t
region_below(fd_graph *graph, fd_map *known, uint32_t above, uint32_t package)
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

static fd_status
find_regions(fd_graph *graph)
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

typedef FD_VECTOR(uint64_t) leaves; /* depth << 32 | box */

FD_ORDER_OF(by_depth, uint64_t)

/* Place leaves line by line, shallow leaves first: each leaf is below the one
 * that precedes it by the length of a line. */
static void
stack_lines(fd_graph *graph, const leaves *found, uint32_t most)
{
    uint32_t lines = (found->count + most - 1) / most;
    uint32_t length = lines > 0 ? (found->count + lines - 1) / lines : 0;
    if (lines > 1) {
        fd_vector_sort(found, by_depth);
    }
    for (uint32_t i = length; i < found->count; i++) {
        graph->boxes.list[(uint32_t)found->list[i]].above =
            (uint32_t)found->list[i - length] + 1;
    }
}

/* Find the depth of each box, and whether it calls another. Edges are sorted
 * by caller and boxes are in the same order, so one pass is sufficient. */
static void
measure_boxes(fd_graph *graph, bool *calls)
{
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const fd_edge *edge = &graph->edges.list[i];
        uint32_t caller = graph->box_of[edge->caller] - 1;
        uint32_t callee = graph->box_of[edge->callee] - 1;
        fd_box *above = &graph->boxes.list[caller];
        fd_box *below = &graph->boxes.list[callee];
        calls[caller] = calls[caller] || caller != callee;
        if (caller < callee && below->depth <= above->depth) {
            below->depth = above->depth + 1;
        }
    }
}

static fd_status
stack_leaves(fd_graph *graph, const fd_export_options *options)
{
    bool classic = options->style == FD_STYLE_CLASSIC;
    uint32_t most = options->leaves > 0 ? options->leaves
                  : classic             ? CLASSIC_LEAVES
                                        : LEAVES_A_LINE;
    bool *calls = fd_calloc(graph->boxes.count + 1, sizeof *calls);
    if (calls == NULL) {
        return FD_ENOMEM;
    }
    measure_boxes(graph, calls);
    leaves found = {NULL, 0, 0};
    fd_status status = fd_vector_reserve(&found, graph->boxes.count);
    uint32_t regions = classic ? 1 : graph->regions;
    for (uint32_t r = 1; r <= regions && status == FD_OK; r++) {
        found.count = 0;
        for (uint32_t i = 0; i < graph->boxes.count; i++) {
            bool here = classic || graph->boxes.list[i].region == r;
            if (here && !calls[i]) {
                found.list[found.count++] =
                    (uint64_t)graph->boxes.list[i].depth << 32 | i;
            }
        }
        stack_lines(graph, &found, most);
    }
    fd_vector_clear(&found);
    fd_free(calls);
    return status;
}

void
fd_regions_depths(const fd_graph *graph, uint32_t *depths)
{
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const fd_edge *edge = &graph->edges.list[i];
        const fd_box *caller =
            &graph->boxes.list[graph->box_of[edge->caller] - 1];
        const fd_box *callee =
            &graph->boxes.list[graph->box_of[edge->callee] - 1];
        uint32_t *depth = &depths[callee->region];
        if (caller->region != callee->region && caller < callee
            && *depth <= caller->depth) {
            *depth = caller->depth + 1;
        }
    }
}

fd_status
fd_regions_make(fd_graph *graph, const fd_export_options *options)
{
    fd_status status = find_regions(graph);
    return fd_then(status, stack_leaves(graph, options));
}
