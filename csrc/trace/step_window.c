#include "trace/step_window.h"

#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

static uint64_t
minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static double
positive(double value)
{
    return value > 0 ? value : 0;
}

/* Figures of one list by context. */
static fd_mark_figure *
by_context(const fd_trace *trace, const fd_mark_figure *list, uint32_t count)
{
    fd_mark_figure *made = fd_calloc(trace->contexts.count, sizeof *made);
    for (uint32_t i = 0; made != NULL && i < count; i++) {
        made[list[i].context] = list[i];
    }
    return made;
}

/* Minimum and maximum are of all steps. */
static void
subtract(fd_figure *figure, const fd_mark_figure *from,
         const fd_mark_figure *to, uint64_t last)
{
    figure->calls = minus(to->calls, from->calls);
    figure->resumes = minus(to->resumes, from->resumes);
    figure->self = minus(to->self, from->self);
    figure->stepped = figure->self;
    figure->steps = to->steps > from->steps ? to->steps - from->steps : 0;
    figure->self_squares = positive(to->self_squares - from->self_squares);
    figure->total_squares = positive(to->total_squares - from->total_squares);
    if (figure->last_step > last) {
        figure->last_step = (uint32_t)last;
    }
}

static fd_status
select_figures(const fd_trace *trace, fd_trace_rank *rank)
{
    const fd_step_window *window = &rank->window;
    uint64_t last = rank->marks.list[window->to - 1].number;
    fd_mark_figure *from = by_context(trace, window->figures_from.list,
                                      window->figures_from.count);
    fd_mark_figure *to =
        by_context(trace, window->figures_to.list, window->figures_to.count);
    uint32_t kept = 0;
    fd_status status = from != NULL && to != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; status == FD_OK && i < rank->figures.count; i++) {
        fd_figure figure = rank->figures.list[i];
        subtract(&figure, &from[figure.context], &to[figure.context], last);
        if (figure.calls + figure.resumes + figure.self > 0) {
            rank->figures.list[kept++] = figure;
        }
    }
    if (status == FD_OK) {
        rank->figures.count = kept;
    }
    fd_free(from);
    fd_free(to);
    return status;
}

static void
select_threads(fd_trace_rank *rank)
{
    for (uint32_t i = 0; i < rank->threads.count; i++) {
        fd_trace_thread *thread = &rank->threads.list[i];
        thread->covered = minus(thread->covered_to, thread->covered_from);
        thread->self = thread->covered;
        thread->cpu = minus(thread->cpu_to, thread->cpu_from);
    }
}

static void
select_steps(fd_trace_rank *rank, uint64_t before, uint64_t last)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rank->latest.count; i++) {
        uint64_t end = rank->latest.list[i].end;
        if (end > before && rank->latest.list[i].number <= last) {
            rank->latest.list[kept++] = rank->latest.list[i];
        }
    }
    rank->latest.count = kept;
    uint64_t first = kept > 0 ? rank->latest.list[0].number : last + 1;
    kept = 0;
    for (uint32_t i = 0; i < rank->tops.count; i++) {
        uint64_t step = rank->tops.list[i].step;
        if (step >= first && step <= last) {
            rank->tops.list[kept++] = rank->tops.list[i];
        }
    }
    rank->tops.count = kept;
}

static fd_status
select_rank(const fd_trace *trace, fd_trace_rank *rank)
{
    fd_step_window *window = &rank->window;
    static const fd_trace_mark start = {.number = 0};
    const fd_trace_mark *to = &rank->marks.list[window->to - 1];
    const fd_trace_mark *from =
        window->from > 0 ? &rank->marks.list[window->from - 1] : &start;
    fd_status status = select_figures(trace, rank);
    if (status != FD_OK) {
        return status;
    }
    select_threads(rank);
    select_steps(rank, from->end, to->number);
    rank->whole = rank->recorded;
    rank->recorded = minus(to->recorded, from->recorded);
    rank->steps = minus(to->steps, from->steps);
    window->figures_from.count = 0;
    window->figures_to.count = 0;
    window->applied = true;
    return FD_OK;
}

/* Contexts that ran in the selected steps, or that are named elsewhere. */
static void
mark_wanted(const fd_trace_rank *rank, bool *wanted)
{
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        wanted[rank->figures.list[i].context] = true;
    }
    for (uint32_t i = 0; i < rank->gpu.count; i++) {
        wanted[rank->gpu.list[i].context] = true;
    }
    for (uint32_t i = 0; i < rank->measures.count; i++) {
        wanted[rank->measures.list[i].context] = true;
    }
    for (uint32_t i = 0; i < rank->open.count; i++) {
        wanted[rank->open.list[i].context] = true;
    }
    for (uint32_t i = 0; i < rank->tops.count; i++) {
        wanted[rank->tops.list[i].context] = true;
    }
    for (uint32_t i = 0; i < rank->threads.count; i++) {
        wanted[rank->threads.list[i].root] = true;
    }
    for (uint32_t i = 0; i < rank->jobs.count; i++) {
        wanted[rank->jobs.list[i].context] = true;
    }
    for (uint32_t i = 0; i < rank->gpu_events.count; i++) {
        wanted[rank->gpu_events.list[i].context] = true;
    }
    for (uint32_t i = 0; i < rank->events.count; i++) {
        const fd_trace_event *event = &rank->events.list[i];
        if (fd_event_has_context(event)) {
            wanted[event->context] = true;
        }
    }
}

/* A copy without the contexts, nodes and modules of other steps. */
static fd_status
reduce(fd_trace **trace)
{
    fd_trace *made = fd_trace_new();
    bool *wanted = fd_calloc((*trace)->contexts.count, sizeof *wanted);
    fd_merge_ids ids = {.wanted = wanted};
    fd_status status = made != NULL && wanted != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; status == FD_OK && i < (*trace)->ranks.count; i++) {
        mark_wanted(&(*trace)->ranks.list[i], wanted);
    }
    if (status == FD_OK) {
        status = fd_merge_shared(made, *trace, &ids);
    }
    if (status == FD_OK) {
        status = fd_merge_ranks(made, *trace, &ids);
    }
    if (status == FD_OK) {
        status = fd_trace_sort(made);
    }
    fd_merge_ids_clear(&ids);
    fd_free(wanted);
    fd_trace *unused = status == FD_OK ? *trace : made;
    *trace = status == FD_OK ? made : *trace;
    fd_trace_free(unused);
    return status;
}

fd_status
fd_window_apply(fd_trace **trace)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < (*trace)->ranks.count; i++) {
        const fd_step_window *window = &(*trace)->ranks.list[i].window;
        if (window->to == 0 || window->applied) {
            return FD_OK;
        }
    }
    for (uint32_t i = 0; i < (*trace)->ranks.count && status == FD_OK; i++) {
        status = select_rank(*trace, &(*trace)->ranks.list[i]);
    }
    return status == FD_OK ? reduce(trace) : status;
}
