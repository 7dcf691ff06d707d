#include "trace/step_window.h"

#include "trace/canonical_order.h"
#include "trace/trace_columns.h"
#include "trace/trace_merge.h"

#include <stdlib.h>

static uint64_t
difference_of(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static double
positive_part(double value)
{
    return value > 0 ? value : 0;
}

/* Return the figures of one list by context. */
static fd_mark_figure *
by_context(fd_arena *arena, const fd_trace *trace, const fd_mark_figure *list,
           uint32_t count)
{
    fd_mark_figure *made =
        fd_arena_new(arena, trace->contexts.count, sizeof *made);
    for (uint32_t i = 0; i < count; i++) {
        made[list[i].context] = list[i];
    }
    return made;
}

/* Subtract the figures at two marks; minimum and maximum remain those of all
 * steps. */
static void
subtract_marks(fd_figure *figure, const fd_mark_figure *from,
               const fd_mark_figure *to, uint64_t last)
{
    figure->calls = difference_of(to->calls, from->calls);
    figure->resumes = difference_of(to->resumes, from->resumes);
    figure->self = difference_of(to->self, from->self);
    figure->stepped = figure->self;
    figure->steps = to->steps > from->steps ? to->steps - from->steps : 0;
    figure->self_squares =
        positive_part(to->self_squares - from->self_squares);
    figure->total_squares =
        positive_part(to->total_squares - from->total_squares);
    if (figure->last_step > last) {
        figure->last_step = (uint32_t)last;
    }
}

static void
select_figures(fd_arena *arena, const fd_trace *trace, fd_trace_rank *rank)
{
    const fd_step_window *window = &rank->window;
    uint64_t last = rank->marks.list[window->to - 1].number;
    fd_mark_figure *from = by_context(arena, trace, window->figures_from.list,
                                      window->figures_from.count);
    fd_mark_figure *to = by_context(arena, trace, window->figures_to.list,
                                    window->figures_to.count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        fd_figure figure = rank->figures.list[i];
        subtract_marks(&figure, &from[figure.context], &to[figure.context],
                       last);
        if (figure.calls + figure.resumes + figure.self > 0) {
            rank->figures.list[kept++] = figure;
        }
    }
    rank->figures.count = kept;
    fd_arena_drop(from);
    fd_arena_drop(to);
}

static void
select_threads(fd_trace_rank *rank)
{
    for (uint32_t i = 0; i < rank->threads.count; i++) {
        fd_trace_thread *thread = &rank->threads.list[i];
        thread->covered =
            difference_of(thread->covered_to, thread->covered_from);
        thread->self = thread->covered;
        thread->cpu = difference_of(thread->cpu_to, thread->cpu_from);
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

static void
select_rank(fd_arena *arena, const fd_trace *trace, fd_trace_rank *rank)
{
    fd_step_window *window = &rank->window;
    static const fd_trace_mark start = {.number = 0};
    const fd_trace_mark *to = &rank->marks.list[window->to - 1];
    const fd_trace_mark *from =
        window->from > 0 ? &rank->marks.list[window->from - 1] : &start;
    select_figures(arena, trace, rank);
    select_threads(rank);
    select_steps(rank, from->end, to->number);
    rank->whole = rank->recorded;
    rank->recorded = difference_of(to->recorded, from->recorded);
    rank->steps = difference_of(to->steps, from->steps);
    window->figures_from.count = 0;
    window->figures_to.count = 0;
    window->applied = true;
}

/* Mark contexts that ran in the selected steps, or to which other parts
 * refer. */
static void
mark_wanted(uint32_t *context, void *wanted)
{
    ((bool *)wanted)[*context] = true;
}

/* Make a sorted copy with the selected contexts and their dependencies. */
static fd_status
copy_contexts(fd_trace **to, const fd_trace *from, const bool *wanted)
{
    fd_trace *made = fd_trace_new();
    fd_merge_ids ids = {.wanted = wanted};
    fd_status status =
        made != NULL ? fd_merge_shared(made, from, &ids) : FD_ENOMEM;
    fd_then(status, fd_merge_ranks(made, from, &ids));
    fd_then(status, fd_trace_sort(made));
    fd_arena_clear(&ids.arena);
    if (status != FD_OK) {
        fd_trace_free(made);
        made = NULL;
    }
    *to = made;
    return status;
}

/* Reduce all ranks, and remove contexts, nodes and modules of other steps. */
static fd_status
reduce_trace(fd_arena *arena, fd_trace **made, fd_trace *trace)
{
    if (fd_arena_caught(arena, NULL)) {
        return arena->status;
    }
    bool *wanted = fd_arena_new(arena, trace->contexts.count, sizeof *wanted);
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        select_rank(arena, trace, &trace->ranks.list[i]);
        fd_rank_visit(&trace->ranks.list[i], FD_COLUMN_CONTEXT, mark_wanted,
                      wanted);
    }
    fd_arena_check(arena, copy_contexts(made, trace, wanted));
    return fd_arena_left(arena);
}

fd_status
fd_window_apply(fd_trace **trace)
{
    fd_arena arena = {.first = NULL};
    fd_trace *made;
    for (uint32_t i = 0; i < (*trace)->ranks.count; i++) {
        const fd_step_window *window = &(*trace)->ranks.list[i].window;
        if (window->to == 0 || window->applied) {
            return FD_OK;
        }
    }
    fd_status status = reduce_trace(&arena, &made, *trace);
    fd_arena_clear(&arena);
    if (status == FD_OK) {
        fd_trace_free(*trace);
        *trace = made;
    }
    return status;
}

fd_status
fd_window_settled(fd_trace **made, const fd_trace *trace)
{
    fd_status status = copy_contexts(made, trace, NULL);
    fd_then(status, fd_window_apply(made));
    if (status != FD_OK) {
        fd_trace_free(*made);
        *made = NULL;
    }
    return status;
}

enum { FEWEST_STEPS = 4, MOST_MARKS = 256 };

/* Times have settled when all later means are this close to their median. */
static const double CLOSE = 0.25;

/* Return the mean time in ns of the steps between the marks at two positions;
 * 0 without steps. Position 0 is the start of the recording. */
static double
mean_time(const fd_trace_rank *rank, uint32_t from, uint32_t to)
{
    const fd_trace_mark *end = &rank->marks.list[to - 1];
    uint64_t steps = end->steps;
    uint64_t recorded = end->recorded;
    if (from > 0) {
        steps -= rank->marks.list[from - 1].steps;
        recorded -= rank->marks.list[from - 1].recorded;
    }
    return steps == 0 || recorded > end->recorded
             ? 0
             : (double)recorded / (double)steps;
}

FD_ORDER_OF(by_value, double)

/* Return whether the means of all intervals from the mark on are close to
 * their median. */
static bool
is_settled(const fd_trace_rank *rank, uint32_t index)
{
    double means[MOST_MARKS];
    double sorted[MOST_MARKS];
    uint32_t count = 0;
    for (uint32_t i = index; i < rank->marks.count && count < MOST_MARKS;
         i++) {
        means[count] = mean_time(rank, i, i + 1);
        sorted[count] = means[count];
        count++;
    }
    if (count == 0) {
        return false;
    }
    qsort(sorted, count, sizeof *sorted, by_value);
    double median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    for (uint32_t i = 0; i < count; i++) {
        if (means[i] < (1 - CLOSE) * median
            || means[i] > (1 + CLOSE) * median) {
            return false;
        }
    }
    return true;
}

/* Return the first mark from which times are settled, at most in the middle;
 * if there is no such mark, the last one before the middle. */
static uint32_t
first_settled(const fd_trace_rank *rank, fd_settling *verdict)
{
    uint32_t count = rank->marks.count;
    uint64_t steps = rank->marks.list[count - 1].steps;
    uint32_t index = 1;
    *verdict = FD_SETTLING_DONE;
    while (index < count && rank->marks.list[index - 1].steps <= steps / 2) {
        if (is_settled(rank, index)) {
            return index;
        }
        index++;
    }
    *verdict = FD_SETTLING_VARYING;
    return index > 1 ? index - 1 : 1;
}

/* Return whether more than one in 20 ends of steps are in doubt, recorded or
 * not, not counting the first one (recording/steps/step_rounds.h). */
static bool
are_unclear(const fd_trace_rank *rank, uint64_t steps)
{
    steps = rank->run_steps > steps ? rank->run_steps : steps;
    return rank->steps_source == FD_STEPS_OPTIMIZER
        && rank->counters[FD_COUNT_STEPS_UNCLEAR] > 1 + steps / 20;
}

fd_settled
fd_settle(const fd_trace_rank *rank)
{
    uint32_t count = rank->marks.count;
    fd_settled found = {.verdict = FD_SETTLING_UNMARKED};
    uint64_t steps =
        count > 0 ? rank->marks.list[count - 1].steps : rank->steps;
    if (are_unclear(rank, steps)) {
        found.verdict = FD_SETTLING_UNCLEAR;
        return found;
    }
    if (steps < FEWEST_STEPS) {
        found.verdict = FD_SETTLING_FEW;
        return found;
    }
    if (count < 2 || rank->marks.list[0].steps != 1) {
        return found;
    }
    const fd_trace_mark *first = &rank->marks.list[0];
    const fd_trace_mark *last = &rank->marks.list[count - 1];
    if (last->recorded <= first->recorded) {
        found.verdict = FD_SETTLING_UNTIMED;
        return found;
    }
    found.from = first_settled(rank, &found.verdict);
    found.to = count;
    double settled = mean_time(rank, found.from, found.to);
    double skipped = mean_time(rank, 0, found.from);
    found.slower = settled > 0 ? skipped / settled : 0;
    return found;
}

static uint64_t
distance_of(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Choose the positions of the marks at which the first selected step begins
 * and the last one ends; the start of the recording is position 0. */
static void
choose_range(fd_trace_rank *rank, const fd_steps_wanted *wanted)
{
    fd_step_window *window = &rank->window;
    uint32_t count = rank->marks.count;
    if (count == 0 || rank->marks.list[0].steps != 1) {
        return;
    }
    uint64_t nearest = distance_of(rank->marks.list[0].number, wanted->first);
    for (uint32_t i = 1; i < count; i++) {
        uint64_t after = rank->marks.list[i - 1].number + 1;
        if (distance_of(after, wanted->first) < nearest) {
            nearest = distance_of(after, wanted->first);
            window->from = i;
        }
    }
    window->to = window->from + 1;
    for (uint32_t i = window->to; i < count; i++) {
        if (distance_of(rank->marks.list[i].number, wanted->last)
            < distance_of(rank->marks.list[window->to - 1].number,
                          wanted->last)) {
            window->to = i + 1;
        }
    }
}

void
fd_steps_choose(fd_trace_rank *rank, const fd_steps_wanted *wanted)
{
    rank->window.from = 0;
    rank->window.to = 0;
    if (wanted != NULL && wanted->range) {
        choose_range(rank, wanted);
        return;
    }
    fd_settled settled = fd_settle(rank);
    rank->window.from = settled.from;
    rank->window.to = settled.to;
}
