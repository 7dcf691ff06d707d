#include "trace/settled_steps.h"

#include <stdlib.h>

enum { FEWEST_STEPS = 4, MOST_MARKS = 256 };

/* Times have settled when all later means are this close to their median. */
static const double CLOSE = 0.25;

/* Mean time of the steps between the marks at two places, ns; 0 without any.
 * Place 0 is the start of the recording. */
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

static int
by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Whether the means of all intervals from the mark on are close to their
 * median. */
static bool
is_settled(const fd_trace_rank *rank, uint32_t place)
{
    double means[MOST_MARKS];
    double sorted[MOST_MARKS];
    uint32_t count = 0;
    for (uint32_t i = place; i < rank->marks.count && count < MOST_MARKS;
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

/* The first mark from which times are settled, at most in the middle; without
 * one the last before the middle. */
static uint32_t
first_settled(const fd_trace_rank *rank, fd_settling *verdict)
{
    uint32_t count = rank->marks.count;
    uint64_t steps = rank->marks.list[count - 1].steps;
    uint32_t place = 1;
    *verdict = FD_SETTLING_DONE;
    while (place < count && rank->marks.list[place - 1].steps <= steps / 2) {
        if (is_settled(rank, place)) {
            return place;
        }
        place++;
    }
    *verdict = FD_SETTLING_VARYING;
    return place > 1 ? place - 1 : 1;
}

fd_settled
fd_settle(const fd_trace_rank *rank)
{
    uint32_t count = rank->marks.count;
    fd_settled found = {.verdict = FD_SETTLING_UNMARKED};
    uint64_t steps =
        count > 0 ? rank->marks.list[count - 1].steps : rank->steps;
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
distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Places of marks at whose end the first wanted step begins, and the last one
 * ends; the start of the recording is place 0. */
static void
choose_range(fd_trace_rank *rank, const fd_steps_wanted *wanted)
{
    fd_step_window *window = &rank->window;
    uint32_t count = rank->marks.count;
    if (count == 0 || rank->marks.list[0].steps != 1) {
        return;
    }
    uint64_t nearest = distance(rank->marks.list[0].number, wanted->first);
    for (uint32_t i = 1; i < count; i++) {
        uint64_t after = rank->marks.list[i - 1].number + 1;
        if (distance(after, wanted->first) < nearest) {
            nearest = distance(after, wanted->first);
            window->from = i;
        }
    }
    window->to = window->from + 1;
    for (uint32_t i = window->to; i < count; i++) {
        if (distance(rank->marks.list[i].number, wanted->last) < distance(
                rank->marks.list[window->to - 1].number, wanted->last)) {
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
