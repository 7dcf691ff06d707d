#include "profile/diff_side.h"

#include "profile/group_edges.h"
#include "profile/profile_rows.h"

#include <string.h>

/* The state while one side is added. */
typedef struct adding {
    fd_diff_join *join;
    const fd_diff_request *request;
    const fd_trace *trace;
    int side;
    double steps; /* divisor of the figures */
    fd_totals totals;
    fd_groups groups;
    fd_rows rows;
    fd_edges edges;
    uint32_t *row_of;     /* owned; by group, index of its row + 1 */
    const uint8_t *waits; /* borrowed; NULL: none */
} adding;

uint64_t
fd_diff_steps(const fd_diff_side *side)
{
    uint64_t steps = 0;
    for (int i = 0; i < (int)side->trace->ranks.count; i++) {
        if (side->rank == FD_ALL_RANKS || side->rank == i) {
            steps += side->trace->ranks.list[i].steps;
        }
    }
    return steps;
}

static bool
groups_nodes(const adding *a)
{
    return a->request->grouping != FD_BY_MODULE
        && a->request->grouping != FD_BY_PACKAGE;
}

/* Return the size of a key without the line number: lines distinguish
 * functions of one recording, but differ between two versions of a file. */
static size_t
key_size(const adding *a, const char *label, uint32_t node)
{
    size_t size = strlen(label);
    if (groups_nodes(a) && a->trace->nodes.list[node].ambiguous) {
        const char *at = strrchr(label, '@');
        size = at != NULL ? (size_t)(at - label) : size;
    }
    return size;
}

static fd_status
find_row(adding *a, uint32_t group, uint32_t *row)
{
    fd_diff *diff = a->join->diff;
    const fd_group *made = &a->groups.list.list[group];
    const char *label = fd_groups_label(&a->groups, group);
    fd_diff_row fresh = {
        .kind = groups_nodes(a) ? a->trace->nodes.list[made->node].kind : 0,
        .changes = a->request->grouping != FD_BY_MODULE
                        && fd_trace_is_collection(a->trace, made->node)
                     ? FD_DIFF_COLLECTION
                     : 0};
    fd_status status = fd_text_pool_add(
        &diff->keys, label, key_size(a, label, made->node), &fresh.key);
    if (status != FD_OK) {
        return status;
    }
    uint64_t key = (uint64_t)fresh.key << 8 | fresh.kind;
    *row = fd_map_get(&a->join->rows, key + 1);
    if (*row == 0) {
        status = fd_vector_push(&diff->rows, fresh);
        *row = diff->rows.count;
    }
    return fd_then(status, fd_map_put(&a->join->rows, key + 1, *row));
}

static void
add_figures(const adding *a, fd_diff_figures *to, const fd_row *row)
{
    to->calls += (double)(row->calls + row->resumes) / a->steps;
    to->self += (double)row->self / a->steps;
    to->total += (double)row->total / a->steps;
    to->backward += (double)row->backward / a->steps;
    to->async += (double)row->async / a->steps;
    to->gpu += (double)row->gpu_total / a->steps;
    if (a->request->grouping == FD_BY_MODULE) {
        to->time = to->total;
        to->spread += row->step_deviation;
    }
    else {
        to->time = to->self;
    }
}

static fd_status
add_rows(adding *a)
{
    fd_diff *diff = a->join->diff;
    fd_status status = FD_OK;
    a->row_of = fd_calloc(a->groups.list.count, sizeof *a->row_of);
    if (a->row_of == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 1; i < a->groups.list.count && status == FD_OK; i++) {
        status = find_row(a, i, &a->row_of[i]);
        if (status == FD_OK) {
            add_figures(a, &diff->rows.list[a->row_of[i] - 1].side[a->side],
                        &a->rows.list[i]);
        }
    }
    return status;
}

static uint8_t
wait_of(const adding *a, uint32_t context)
{
    return a->waits == NULL
             ? FD_DIFF_WORKS
             : a->waits[a->trace->contexts.list[context].node - 1];
}

/* Mark rows that may wait, and rows that only communicate. */
static void
mark_waits(adding *a)
{
    for (uint32_t i = 1; i < a->trace->contexts.count; i++) {
        uint32_t row = a->row_of[a->groups.of_context[i]];
        uint8_t wait = wait_of(a, i);
        if (row == 0 || wait == FD_DIFF_WORKS) {
            continue;
        }
        fd_diff_row *marked = &a->join->diff->rows.list[row - 1];
        marked->waits = true;
        if (wait == FD_DIFF_FOR_RANKS && groups_nodes(a)) {
            marked->changes |= FD_DIFF_COMMUNICATES;
        }
    }
}

/* Return the figures of the row of a context, or NULL. */
static fd_diff_figures *
figures_of(const adding *a, uint32_t context)
{
    uint32_t row = a->row_of[a->groups.of_context[context]];
    return row == 0 ? NULL : &a->join->diff->rows.list[row - 1].side[a->side];
}

/* Add totals without communication, and the number of steps. */
static fd_status
add_work(adding *a)
{
    fd_total *totals = a->totals.list;
    fd_rows rows = {NULL, 0, 0};
    for (uint32_t i = 1; i < a->trace->contexts.count; i++) {
        totals[i].total = 0;
    }
    for (uint32_t i = a->trace->contexts.count; i-- > 1;) {
        const fd_trace_context *context = &a->trace->contexts.list[i];
        fd_diff_figures *figures = figures_of(a, i);
        totals[i].total +=
            wait_of(a, i) == FD_DIFF_FOR_RANKS ? 0 : totals[i].self;
        totals[context->parent].total += totals[i].total;
        if (figures != NULL && figures->steps < totals[i].steps) {
            figures->steps = totals[i].steps;
        }
    }
    fd_status status = fd_rows_sum(&rows, a->trace, &a->groups, &a->totals);
    for (uint32_t i = 1; i < rows.count && status == FD_OK; i++) {
        if (a->row_of[i] != 0) {
            a->join->diff->rows.list[a->row_of[i] - 1].side[a->side].work +=
                (double)rows.list[i].total / a->steps;
        }
    }
    fd_vector_clear(&rows);
    return status;
}

/* Subtract garbage collections, which happen at any time, from the calls of
 * modules. */
static void
subtract_collections(adding *a)
{
    for (uint32_t i = 1; i < a->trace->contexts.count; i++) {
        uint32_t row = a->row_of[a->groups.of_context[i]];
        if (row != 0
            && fd_trace_is_collection(a->trace,
                                      a->trace->contexts.list[i].node)) {
            a->join->diff->rows.list[row - 1].side[a->side].calls -=
                (double)a->totals.list[i].calls / a->steps;
        }
    }
}

/* Add the spreads of the contexts of a group as if they were fully correlated:
 * an upper bound. */
static void
add_spreads(adding *a)
{
    fd_diff *diff = a->join->diff;
    for (uint32_t i = 1; i < a->trace->contexts.count; i++) {
        const fd_total *total = &a->totals.list[i];
        uint32_t row = a->row_of[a->groups.of_context[i]];
        diff->whole[a->side] += (double)total->self / a->steps;
        if (row != 0 && a->totals.steps > 0
            && a->request->grouping != FD_BY_MODULE) {
            diff->rows.list[row - 1].side[a->side].spread += fd_deviation(
                total->self_squares, total->self_stepped, a->totals.steps);
        }
    }
}

/* Add fastest steps. A context that is missing in some steps is counted only
 * in the others. The noise of a context in a single step (imports,
 * initialisation) is unknown, so its time is not compared. */
static void
add_least(adding *a, const fd_trace_rank *rank)
{
    fd_diff *diff = a->join->diff;
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        const fd_figure *figure = &rank->figures.list[i];
        uint32_t row = a->row_of[a->groups.of_context[figure->context]];
        uint32_t flags = a->trace->contexts.list[figure->context].flags;
        if (row != 0 && figure->steps > 1 && (flags & FD_CONTEXT_ASYNC) == 0) {
            diff->rows.list[row - 1].side[a->side].least +=
                (double)figure->self_min * figure->steps / a->steps;
        }
    }
}

/* Add fastest steps of a sum of ranks. */
static void
add_least_of_sum(adding *a, const fd_trace_rank *sum)
{
    fd_diff *diff = a->join->diff;
    for (uint32_t i = 0; i < sum->spreads.count; i++) {
        const fd_rank_spread *spread = &sum->spreads.list[i];
        uint32_t row = a->row_of[a->groups.of_context[spread->context]];
        uint32_t flags = a->trace->contexts.list[spread->context].flags;
        if (row != 0 && (flags & FD_CONTEXT_ASYNC) == 0) {
            diff->rows.list[row - 1].side[a->side].least +=
                (double)spread->least / a->steps;
        }
    }
}

static void
add_leasts(adding *a, int rank)
{
    for (int i = 0; i < (int)a->trace->ranks.count; i++) {
        const fd_trace_rank *from = &a->trace->ranks.list[i];
        if (rank != FD_ALL_RANKS && rank != i) {
            continue;
        }
        if (from->reduced > 0) {
            add_least_of_sum(a, from);
        }
        else {
            add_least(a, from);
        }
    }
}

static fd_status
add_call(adding *a, const fd_edge *edge)
{
    fd_diff *diff = a->join->diff;
    fd_diff_call fresh = {.caller = a->row_of[edge->caller],
                          .callee = a->row_of[edge->callee]};
    uint64_t key = (uint64_t)fresh.caller << 32 | fresh.callee;
    uint32_t at = fd_map_get(&a->join->calls, key);
    fd_status status = FD_OK;
    if (at == 0) {
        status = fd_vector_push(&diff->calls, fresh);
        at = diff->calls.count;
        fd_then(status, fd_map_put(&a->join->calls, key, at));
    }
    if (status == FD_OK) {
        diff->calls.list[at - 1].calls[a->side] +=
            (double)(edge->calls + edge->resumes) / a->steps;
        diff->calls.list[at - 1].steps[a->side] = edge->steps;
    }
    return status;
}

static fd_status
sum_up(adding *a, int rank)
{
    fd_status status = fd_totals_sum_steady(&a->totals, a->trace, rank);
    fd_then(status,
            fd_groups_make(&a->groups, a->trace, a->request->grouping));
    fd_then(status, fd_rows_sum(&a->rows, a->trace, &a->groups, &a->totals));
    return fd_then(status,
                   fd_edges_sum(&a->edges, a->trace, &a->groups, &a->totals));
}

fd_status
fd_diff_add(fd_diff_join *join, const fd_diff_request *request, int side)
{
    uint64_t steps = join->diff->steps[side];
    adding a = {.join = join,
                .request = request,
                .trace = request->sides[side].trace,
                .side = side,
                .waits = request->waits[side],
                .steps = steps == 0 ? 1 : (double)steps};
    fd_status status = sum_up(&a, request->sides[side].rank);
    fd_then(status, add_rows(&a));
    if (status == FD_OK && request->grouping == FD_BY_MODULE) {
        subtract_collections(&a);
    }
    if (status == FD_OK) {
        mark_waits(&a);
        add_spreads(&a);
        add_leasts(&a, request->sides[side].rank);
    }
    fd_then(status, add_work(&a));
    for (uint32_t i = 0; i < a.edges.count && status == FD_OK; i++) {
        status = add_call(&a, &a.edges.list[i]);
    }
    fd_totals_clear(&a.totals);
    fd_groups_clear(&a.groups);
    fd_vector_clear(&a.rows);
    fd_vector_clear(&a.edges);
    fd_free(a.row_of);
    return status;
}
