#include "profile/diff_joined.h"

#include "profile/totals.h"
#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

/* The state while one side is added. */
typedef struct adding {
    fd_trace *into;
    const fd_diff_side *side;
    const fd_merge_ids *ids; /* borrowed */
    fd_totals totals;
    uint32_t
        *figure_of; /* owned; by context of `into`: index of its figure + 1 */
} adding;

/* Add the figure of a context; contexts that differ only by a line are
 * merged. */
static fd_status
add_figure(adding *a, fd_trace_rank *rank, uint32_t context)
{
    const fd_total *total = &a->totals.list[context];
    uint32_t to = a->ids->contexts[context];
    fd_figure figure = {.context = to,
                        .calls = total->calls,
                        .resumes = total->resumes,
                        .self = total->self + total->async};
    if (figure.calls + figure.resumes + figure.self == 0) {
        return FD_OK;
    }
    if (a->figure_of[to] != 0) {
        fd_figure_add(&rank->figures.list[a->figure_of[to] - 1], &figure);
        return FD_OK;
    }
    a->figure_of[to] = rank->figures.count + 1;
    return fd_vector_push(&rank->figures, figure);
}

static fd_status
add_figures(adding *a, fd_trace_rank *rank)
{
    fd_status status = FD_OK;
    a->figure_of = fd_calloc(a->into->contexts.count, sizeof *a->figure_of);
    if (a->figure_of == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 1; i < a->side->trace->contexts.count && status == FD_OK;
         i++) {
        status = add_figure(a, rank, i);
    }
    return status;
}

/* Add further figures of the rank; a context can occur several times, in any
 * order. */
static fd_status
add_rest(adding *a, fd_trace_rank *rank, const fd_trace_rank *from)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < from->gpu.count && status == FD_OK; i++) {
        fd_gpu_figure figure = from->gpu.list[i];
        figure.context = a->ids->contexts[figure.context];
        status = fd_vector_push(&rank->gpu, figure);
    }
    for (uint32_t i = 0; i < from->measures.count && status == FD_OK; i++) {
        fd_trace_measure measure = from->measures.list[i];
        measure.context = a->ids->contexts[measure.context];
        measure.detail = a->ids->texts[measure.detail];
        status = fd_vector_push(&rank->measures, measure);
    }
    for (uint32_t i = 0; i < from->threads.count && status == FD_OK; i++) {
        fd_trace_thread thread = from->threads.list[i];
        thread.role = a->ids->texts[thread.role];
        thread.root = a->ids->contexts[thread.root];
        status = fd_vector_push(&rank->threads, thread);
    }
    rank->recorded += from->recorded;
    rank->timing = from->timing;
    rank->incomplete = rank->incomplete || from->incomplete;
    return status;
}

/* Return the number of ended steps of its ranks, summed. */
static uint64_t
ended_steps(const fd_diff_side *side)
{
    uint64_t steps = 0;
    for (int i = 0; i < (int)side->trace->ranks.count; i++) {
        if (side->rank == FD_ALL_RANKS || side->rank == i) {
            steps += side->trace->ranks.list[i].steps;
        }
    }
    return steps;
}

static fd_status
add_rank(adding *a, uint32_t number)
{
    const fd_trace *from = a->side->trace;
    fd_trace_rank *rank = fd_trace_add_rank(a->into);
    if (rank == NULL) {
        return FD_ENOMEM;
    }
    rank->rank = number;
    rank->state = FD_STATE_STOPPED;
    rank->steps = ended_steps(a->side);
    fd_status status = add_figures(a, rank);
    for (uint32_t i = 0; i < from->ranks.count && status == FD_OK; i++) {
        if (a->side->rank == FD_ALL_RANKS || a->side->rank == (int)i) {
            status = add_rest(a, rank, &from->ranks.list[i]);
        }
    }
    return status;
}

/* Set the lines of functions to those of the later recording; removed
 * functions keep their line. */
static void
add_lines(fd_trace *into, const fd_trace *from, const fd_merge_ids *ids)
{
    for (uint32_t i = 1; i < from->nodes.count; i++) {
        uint32_t line = from->nodes.list[i].line;
        if (line != 0) {
            into->nodes.list[ids->nodes[i]].line = line;
        }
    }
}

static fd_status
add_side(fd_trace *into, const fd_diff_side *side, const fd_merge_ids *ids,
         uint32_t number)
{
    adding a = {.into = into, .side = side, .ids = ids};
    fd_status status =
        fd_totals_sum_steady(&a.totals, side->trace, side->rank);
    fd_then(status, add_rank(&a, number));
    fd_totals_clear(&a.totals);
    fd_free(a.figure_of);
    return status;
}

/* Add all sides. Lines are set at the end, since they are part of the keys of
 * nodes. */
static fd_status
add_sides(fd_trace *into, const fd_diff_side *sides, uint32_t count,
          fd_merge_ids ids[2])
{
    fd_status status = FD_OK;
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        status = fd_merge_shared(into, sides[i].trace, &ids[i]);
    }
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        status = add_side(into, &sides[i], &ids[i % 2], i);
        if (status == FD_OK) {
            into->ranks.list[i].world = count;
        }
    }
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        add_lines(into, sides[i].trace, &ids[i]);
    }
    return status;
}

fd_status
fd_diff_joined(fd_trace **joined, const fd_diff_side *sides, uint32_t count)
{
    fd_merge_ids ids[2] = {{.lineless = true}, {.lineless = true}};
    *joined = fd_trace_new();
    fd_status status =
        *joined == NULL ? FD_ENOMEM : add_sides(*joined, sides, count, ids);
    fd_then(status, fd_trace_sort(*joined));
    for (int i = 0; i < 2; i++) {
        fd_merge_ids_clear(&ids[i]);
    }
    if (status != FD_OK) {
        fd_trace_free(*joined);
        *joined = NULL;
    }
    return status;
}
