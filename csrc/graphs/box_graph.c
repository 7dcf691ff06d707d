#include "graphs/box_graph.h"

#include "base/rows.h"
#include "recording/node_table.h"

#include <string.h>

/* Use calls as times, for a recording without times: sums of calls, like those
 * of times, do not grow towards the leaves. */
static void
calls_for_times(fd_totals *totals, const fd_trace *trace)
{
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        fd_total *total = &totals->list[i];
        total->self = total->calls + total->resumes;
        total->total = 0;
    }
    for (uint32_t i = trace->contexts.count; i-- > 1;) {
        fd_total *total = &totals->list[i];
        total->total += total->self;
        totals->list[trace->contexts.list[i].parent].total += total->total;
    }
}

static bool
is_main(const fd_trace *trace, uint32_t context)
{
    const fd_trace_node *node =
        &trace->nodes.list[trace->contexts.list[context].node];
    return node->kind == FD_NODE_THREAD
        && strcmp(fd_trace_text(trace, node->name), "main") == 0;
}

static bool
is_autograd(const fd_trace *trace, uint32_t context)
{
    static const char prefix[] = "autograd:";
    const fd_trace_node *node =
        &trace->nodes.list[trace->contexts.list[context].node];
    return strncmp(fd_trace_text(trace, node->name), prefix, sizeof prefix - 1)
        == 0;
}

/* Return the thread of the context of the optimizer with the longest total; 0
 * without one. */
static uint32_t
optimizing_thread(const fd_totals *totals, const fd_trace *trace)
{
    uint32_t thread = 0;
    uint64_t longest = 0;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        if ((context->flags & FD_CONTEXT_PHASE) == FD_PHASE_OPTIMIZER
            && totals->list[i].total > longest) {
            uint32_t root = i;
            while (trace->contexts.list[root].parent != 0) {
                root = trace->contexts.list[root].parent;
            }
            if (!is_autograd(trace, root)) {
                longest = totals->list[i].total;
                thread = root;
            }
        }
    }
    return thread;
}

/* Return the time of the threads that run the optimizer, or without one of the
 * main threads; without main threads, the entire recorded time. */
static uint64_t
whole_of(const fd_totals *totals, const fd_trace *trace)
{
    uint64_t of_main = 0;
    uint64_t of_all = 0;
    uint32_t thread = optimizing_thread(totals, trace);
    if (thread != 0) {
        return totals->list[thread].total;
    }
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        if (trace->contexts.list[i].parent == 0) {
            of_all += totals->list[i].total;
            of_main += is_main(trace, i) ? totals->list[i].total : 0;
        }
    }
    return of_main > 0 ? of_main : of_all;
}

/* Exclude contexts that this rank does not have, in one pass from the end,
 * since children follow their parents. */
static fd_status
leave_out_absent(fd_groups *groups, const fd_totals *totals,
                 const fd_trace *trace)
{
    bool *present = fd_calloc(trace->contexts.count, sizeof *present);
    if (present == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = trace->contexts.count; i-- > 1;) {
        const fd_total *total = &totals->list[i];
        present[i] = present[i] || total->calls > 0 || total->resumes > 0
                  || total->self > 0 || total->async > 0;
        if (present[i]) {
            present[trace->contexts.list[i].parent] = true;
        }
        else {
            groups->of_context[i] = 0;
        }
    }
    fd_free(present);
    return FD_OK;
}

/* Set, by root, 1 % of the time of its threads minus their time on a CPU, as
 * in reports; nothing if CPU times are unknown. */
static void
sum_idle_time(double *time, const fd_trace *trace, int rank)
{
    bool known = false;
    for (uint32_t r = 0; r < trace->ranks.count; r++) {
        const fd_trace_rank *entry = &trace->ranks.list[r];
        for (uint32_t i = 0; i < entry->threads.count; i++) {
            const fd_trace_thread *thread = &entry->threads.list[i];
            if (rank == FD_ALL_RANKS || r == (uint32_t)rank) {
                time[thread->root] +=
                    0.01 * (double)thread->self - (double)thread->cpu;
                known = known || thread->cpu > 0;
            }
        }
    }
    if (!known) {
        memset(time, 0, trace->contexts.count * sizeof *time);
    }
}

/* Exclude functions that wait in a thread for the entire recording: they would
 * have a share of 100 %. The main threads are never idle. */
static fd_status
leave_out_idle(fd_graph *graph, const fd_trace *trace, int rank)
{
    double *idle = fd_calloc(trace->contexts.count, sizeof *idle);
    bool *met = fd_calloc(graph->groups.list.count, 2 * sizeof *met);
    if (idle == NULL || met == NULL) {
        fd_free(idle);
        fd_free(met);
        return FD_ENOMEM;
    }
    sum_idle_time(idle, trace, rank);
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        uint32_t parent = trace->contexts.list[i].parent;
        uint32_t *group = &graph->groups.of_context[i];
        idle[i] = parent != 0 ? idle[parent] : is_main(trace, i) ? 0 : idle[i];
        met[2 * *group + (idle[i] > 0)] = true;
        *group = idle[i] > 0 ? 0 : *group;
    }
    for (uint32_t g = 1; g < graph->groups.list.count; g++) {
        uint8_t kind = trace->nodes.list[graph->groups.list.list[g].node].kind;
        bool counts = fd_kind_is_function(kind) || kind == FD_NODE_RANGE;
        graph->idle += counts && met[2 * g + 1] && !met[2 * g];
    }
    fd_free(idle);
    fd_free(met);
    return FD_OK;
}

/* Exclude nested operators (FD_OPS_TOP): callees of operators are contracted,
 * and the figures of an operator are those of its calls by Python. */
static void
leave_out_nested(fd_groups *groups, const fd_trace *trace)
{
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        uint32_t above = trace->contexts.list[context->parent].node;
        uint8_t kind = trace->nodes.list[context->node].kind;
        uint8_t of_above = trace->nodes.list[above].kind;
        if ((kind == FD_NODE_OP || kind == FD_NODE_AUTOGRAD)
            && (of_above == FD_NODE_OP || of_above == FD_NODE_AUTOGRAD)) {
            groups->of_context[i] = 0;
        }
    }
}

static fd_status
group_all(fd_graph *graph, const fd_trace *trace,
          const fd_export_options *options)
{
    fd_status status = fd_totals_sum(&graph->totals, trace, options->rank);
    fd_then(status, fd_groups_make(&graph->groups, trace, FD_BY_NODE));
    fd_then(status, fd_groups_make(&graph->packages, trace, FD_BY_PACKAGE));
    fd_then(status, fd_groups_make(&graph->modules, trace, FD_BY_MODULE));
    if (status != FD_OK) {
        return status;
    }
    graph->whole = whole_of(&graph->totals, trace);
    graph->timed = graph->whole > 0;
    if (!graph->timed) {
        calls_for_times(&graph->totals, trace);
        graph->whole = whole_of(&graph->totals, trace);
    }
    if (options->ops == FD_OPS_TOP) {
        leave_out_nested(&graph->groups, trace);
    }
    status = leave_out_absent(&graph->groups, &graph->totals, trace);
    if (status == FD_OK && options->style == FD_STYLE_DEFAULT
        && !options->all) {
        status = leave_out_idle(graph, trace, options->rank);
    }
    return fd_then(status, fd_rows_sum(&graph->rows, trace, &graph->groups,
                                       &graph->totals));
}

static fd_status
make_boxes(fd_graph *graph, const fd_trace *trace)
{
    graph->box_of = fd_calloc(graph->groups.list.count, sizeof *graph->box_of);
    if (graph->box_of == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        uint32_t group = graph->groups.of_context[i];
        if (graph->selection.visibility[group] != FD_DRAWN
            || graph->box_of[group] != 0) {
            continue;
        }
        fd_box box = {.group = group,
                      .package = graph->packages.of_context[i]};
        if (fd_vector_push(&graph->boxes, box) != FD_OK) {
            return FD_ENOMEM;
        }
        graph->box_of[group] = graph->boxes.count;
    }
    return FD_OK;
}

/* Add self times to the nearest box above; parents precede their children. */
static fd_status
share_self(fd_graph *graph, const fd_trace *trace)
{
    uint32_t *nearest = fd_calloc(trace->contexts.count, sizeof *nearest);
    if (nearest == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        uint32_t box = graph->box_of[graph->groups.of_context[i]];
        nearest[i] = box != 0 ? box : nearest[trace->contexts.list[i].parent];
        uint64_t *own = nearest[i] != 0
                          ? &graph->boxes.list[nearest[i] - 1].own
                          : &graph->outside;
        *own += graph->totals.list[i].self;
    }
    fd_free(nearest);
    return FD_OK;
}

/* Find the modules whose forward a box is: their number, and their pattern if
 * all have the same. */
static fd_status
name_modules(fd_graph *graph, const fd_trace *trace)
{
    fd_map seen = {.entries = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 1; i < trace->contexts.count && status == FD_OK; i++) {
        uint32_t at = graph->box_of[graph->groups.of_context[i]];
        uint32_t module = trace->contexts.list[i].module;
        uint64_t key = (uint64_t)at << 32 | module;
        if (at == 0 || module == 0 || !fd_map_is_new(&seen, key, &status)) {
            continue;
        }
        fd_box *box = &graph->boxes.list[at - 1];
        uint32_t pattern = graph->modules.of_context[i];
        box->pattern =
            box->instances == 0 || box->pattern == pattern ? pattern : 0;
        box->instances++;
    }
    fd_map_clear(&seen);
    return status;
}

/* Make the edges: contract groups without a box, then remove edges of deleted
 * boxes. */
static fd_status
make_edges(fd_graph *graph, const fd_trace *trace)
{
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        uint8_t state =
            graph->selection.visibility[graph->groups.of_context[i]];
        if (state != FD_DRAWN && state != FD_DELETED) {
            graph->groups.of_context[i] = 0;
        }
    }
    fd_status status =
        fd_edges_sum(&graph->edges, trace, &graph->groups, &graph->totals);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const fd_edge edge = graph->edges.list[i];
        if (graph->box_of[edge.caller] != 0
            && graph->box_of[edge.callee] != 0) {
            graph->edges.list[kept++] = edge;
        }
    }
    graph->edges.count = kept;
    return status;
}

fd_status
fd_graph_make(fd_graph *graph, const fd_trace *trace,
              const fd_export_options *options)
{
    *graph = (fd_graph){.whole = 0};
    fd_status status = group_all(graph, trace, options);
    fd_then(status, fd_selection_make(&graph->selection, trace, &graph->groups,
                                      &graph->rows, graph->whole, options));
    fd_then(status, make_boxes(graph, trace));
    fd_then(status, name_modules(graph, trace));
    fd_then(status, share_self(graph, trace));
    fd_then(status, make_edges(graph, trace));
    if (status != FD_OK) {
        fd_graph_clear(graph);
    }
    return status;
}

void
fd_graph_clear(fd_graph *graph)
{
    fd_totals_clear(&graph->totals);
    fd_groups_clear(&graph->groups);
    fd_groups_clear(&graph->packages);
    fd_groups_clear(&graph->modules);
    fd_vector_clear(&graph->rows);
    fd_selection_clear(&graph->selection);
    fd_vector_clear(&graph->boxes);
    fd_free(graph->box_of);
    fd_vector_clear(&graph->edges);
    *graph = (fd_graph){.whole = 0};
}
