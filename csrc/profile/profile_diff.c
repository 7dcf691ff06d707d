#include "profile/profile_diff.h"

#include "profile/diff_side.h"

#include <math.h>

/* If the fastest steps are unknown, a change must exceed this number of
 * standard deviations of the steps of one run. Steps are not independent, so
 * their number does not reduce it. */
static const double DEVIATIONS = 2;

/* A change is reported if it is at least this share of the time of a step. */
static const double LEAST_SHARE = 0.005;

/* Waits for other ranks vary with what these ranks do: their share, and their
 * minimum relative change. */
static const double LEAST_WAIT = 0.05;
static const double WAIT_THRESHOLD = 0.5;

/* A call that one side never makes is reported if the other makes at least
 * this number in as many steps, and in as many of them: fewer can be a rare
 * event that is only in its selected steps. */
static const double FEWEST_CALLS = 3;

/* Functions with a smaller share are not used for the speed of the machine. */
static const double SPEED_SHARE = 0.001;

typedef struct ratio {
    double value;
    double weight;
} ratio;

typedef FD_VECTOR(ratio) ratios;

FD_ORDER_BY(by_value, ratio, value)

static double
weighted_median(const ratios *list)
{
    double whole = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        whole += list->list[i].weight;
    }
    double below = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        below += list->list[i].weight;
        if (below >= whole / 2) {
            return list->list[i].value;
        }
    }
    return 1;
}

typedef double figure(const fd_diff_figures *figures);

static double
time_of(const fd_diff_figures *figures)
{
    return figures->time;
}

static double
least_of(const fd_diff_figures *figures)
{
    return figures->least;
}

/* Find the ratio that applies to most of the time: the speed of the
 * machine. */
static fd_status
common_ratio(const fd_diff *diff, figure *of, double *speed)
{
    ratios list = {NULL, 0, 0};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < diff->rows.count && status == FD_OK; i++) {
        const fd_diff_row *row = &diff->rows.list[i];
        double before = of(&row->side[0]);
        double after = of(&row->side[1]);
        if (!row->waits
            && (row->changes & (FD_DIFF_CALLS | FD_DIFF_COLLECTION)) == 0
            && before > SPEED_SHARE * diff->whole[0] && after > 0) {
            double weight = fmin(before, after); /* a removed wait has none */
            status = fd_vector_push(&list, ((ratio){after / before, weight}));
        }
    }
    fd_vector_sort(&list, by_value);
    *speed = weighted_median(&list);
    fd_vector_clear(&list);
    return status;
}

/* Return whether the steps of the other side would have few of the calls, or
 * have them in few steps. */
static bool
is_rare(const fd_diff *diff, int side, double calls, uint64_t steps)
{
    double other = (double)diff->steps[1 - side];
    double share = (double)steps / (double)diff->steps[side];
    return diff->selected
        && (calls * other < FEWEST_CALLS
            || (steps > 0 && share * other < FEWEST_CALLS));
}

static uint8_t
calls_changes(const fd_diff *diff, double before, double after,
              const uint64_t steps[2])
{
    if ((after <= 0 && is_rare(diff, 0, before, steps[0]))
        || (before <= 0 && is_rare(diff, 1, after, steps[1]))) {
        return 0;
    }
    bool same_length = diff->steps[0] == diff->steps[1];
    bool differ = same_length ? before < after || before > after
                              : fabs(before - after) >= 0.5;
    return before <= 0 && after > 0 ? FD_DIFF_NEW | FD_DIFF_CALLS
         : before > 0 && after <= 0 ? FD_DIFF_GONE | FD_DIFF_CALLS
         : differ                   ? FD_DIFF_CALLS
                                    : 0;
}

/* Return 1 if larger, -1 if smaller, 0 if unchanged. */
static int
change_direction(double before, double after, double noise)
{
    return after - before > noise ? 1 : before - after > noise ? -1 : 0;
}

/* Return the direction in which the mean of a time changed that the fastest
 * steps do not have: a lock is free in some of them, whatever the speed of the
 * machine. A busy machine makes such steps too, but its threads are not
 * blocked, and few steps of a whole run are within the uncertainty of the
 * mean. */
static int
blocked_direction(const fd_diff *diff, const fd_diff_row *row, double noise)
{
    const fd_diff_figures *side = row->side;
    double growth = side[1].time - side[0].time;
    if (diff->idle * growth <= 0 || fabs(diff->idle) < fabs(growth) / 2) {
        return 0;
    }
    double of_mean = hypot(side[0].spread / sqrt((double)diff->steps[0]),
                           side[1].spread / sqrt((double)diff->steps[1]));
    return change_direction(side[0].time, side[1].time,
                            fmax(noise, DEVIATIONS * of_mean));
}

/* Return the direction in which a time changed at a speed of the machine. A
 * busy machine makes only some steps longer: a real change of work affects
 * both the mean and the fastest step. */
static int
time_direction(const fd_diff *diff, const fd_diff_row *row, double threshold,
               double speed, double least_speed)
{
    bool work = (row->changes & FD_DIFF_COMMUNICATES) == 0;
    double before = row->side[0].time * speed;
    double share = (work ? LEAST_SHARE : LEAST_WAIT) * diff->whole[0] * speed;
    threshold = work ? threshold : fmax(threshold, WAIT_THRESHOLD);
    double noise = fmax(threshold * before, share);
    if (!diff->by_least) {
        noise = fmax(noise, DEVIATIONS
                                * hypot(row->side[0].spread * speed,
                                        row->side[1].spread));
        return change_direction(before, row->side[1].time, noise);
    }
    double least = row->side[0].least * least_speed;
    int of_least = change_direction(least, row->side[1].least,
                                    fmax(threshold * least, share));
    int of_mean = change_direction(before, row->side[1].time, noise);
    return of_mean == of_least ? of_mean
         : of_least == 0       ? blocked_direction(diff, row, noise)
                               : 0;
}

/* Return the changes of a time. The speed is not that of all functions: a
 * change that appears only with it, or disappears, is not one. */
static uint8_t
time_changes(const fd_diff *diff, const fd_diff_row *row, double threshold)
{
    int direction =
        time_direction(diff, row, threshold, diff->speed, diff->least_speed);
    return time_direction(diff, row, threshold, 1, 1) != direction ? 0
         : direction > 0 ? FD_DIFF_SLOWER
         : direction < 0 ? FD_DIFF_FASTER
                         : 0;
}

/* Limit a ratio of times to that of the time on a CPU, or waiting for one: a
 * thread that waits for anything else does not measure the machine. */
static double
within_busy(const fd_diff_request *request, double speed)
{
    const double *busy = request->busy;
    if (busy[0] <= 0 || busy[1] <= 0) {
        return speed;
    }
    double limit = busy[1] / busy[0];
    return speed > 1 ? fmax(1, fmin(speed, limit))
                     : fmin(1, fmax(speed, limit));
}

static fd_status
find_speeds(fd_diff *diff, const fd_diff_request *request)
{
    fd_status status = common_ratio(diff, time_of, &diff->speed);
    if (diff->by_least) {
        fd_then(status, common_ratio(diff, least_of, &diff->least_speed));
    }
    diff->speed = within_busy(request, diff->speed);
    diff->least_speed = within_busy(request, diff->least_speed);
    return status;
}

/* Find the speed of the machine from functions and operators. Times of modules
 * contain each other, so that one slower module affects most of their time. */
static fd_status
find_speeds_by_node(fd_diff *diff, const fd_diff_request *request)
{
    fd_diff_request by_node = *request;
    fd_diff nodes;
    by_node.grouping = FD_BY_NODE;
    fd_status status = fd_diff_make(&nodes, &by_node);
    diff->speed = nodes.speed;
    diff->least_speed = nodes.least_speed;
    fd_diff_clear(&nodes);
    return status;
}

/* Return whether `row` - 1 is a garbage collection. */
static bool
is_collection(const fd_diff *diff, uint32_t row)
{
    return row != 0
        && (diff->rows.list[row - 1].changes & FD_DIFF_COLLECTION) != 0;
}

static fd_status
judge_rows(fd_diff *diff, const fd_diff_request *request)
{
    for (uint32_t i = 0; i < diff->rows.count; i++) {
        fd_diff_row *row = &diff->rows.list[i];
        uint64_t steps[2] = {row->side[0].steps, row->side[1].steps};
        if ((row->changes & FD_DIFF_COLLECTION) == 0) {
            row->changes |= calls_changes(diff, row->side[0].calls,
                                          row->side[1].calls, steps);
        }
    }
    for (uint32_t i = 0; i < diff->calls.count; i++) {
        fd_diff_call *call = &diff->calls.list[i];
        call->changes = is_collection(diff, call->caller)
                             || is_collection(diff, call->callee)
                          ? FD_DIFF_COLLECTION
                          : calls_changes(diff, call->calls[0], call->calls[1],
                                          call->steps);
    }
    fd_status status = FD_OK;
    if (!request->same_speed) {
        status = request->grouping == FD_BY_NODE
                   ? find_speeds(diff, request)
                   : find_speeds_by_node(diff, request);
    }
    for (uint32_t i = 0; i < diff->rows.count; i++) {
        fd_diff_row *row = &diff->rows.list[i];
        if ((row->changes & FD_DIFF_COLLECTION) == 0
            && row->kind != FD_NODE_THREAD) { /* it waits for calls */
            row->changes |= time_changes(diff, row, request->threshold);
        }
    }
    return status;
}

/* Return whether all ranks of a side are reduced to some steps. */
static bool
is_selected(const fd_diff_side *side)
{
    for (uint32_t i = 0; i < side->trace->ranks.count; i++) {
        if (!side->trace->ranks.list[i].window.applied) {
            return false;
        }
    }
    return true;
}

fd_status
fd_diff_make(fd_diff *diff, const fd_diff_request *request)
{
    *diff = (fd_diff){.speed = 1, .least_speed = 1};
    for (int side = 0; side < 2; side++) {
        diff->steps[side] = fd_diff_steps(&request->sides[side]);
    }
    if (diff->steps[0] == 0 || diff->steps[1] == 0) {
        diff->steps[0] = 0;
        diff->steps[1] = 0;
    }
    diff->selected = diff->steps[0] > 0 && is_selected(&request->sides[0])
                  && is_selected(&request->sides[1]);
    diff->idle = request->idle[1] - request->idle[0];
    diff->by_least = diff->steps[0] > 1 && diff->steps[1] > 1
                  && request->grouping != FD_BY_MODULE;
    fd_diff_join join = {.diff = diff};
    fd_status status = FD_OK;
    for (int side = 0; side < 2 && status == FD_OK; side++) {
        status = fd_diff_add(&join, request, side);
    }
    fd_map_clear(&join.rows);
    fd_map_clear(&join.calls);
    return fd_then(status, judge_rows(diff, request));
}

void
fd_diff_clear(fd_diff *diff)
{
    fd_text_pool_clear(&diff->keys);
    fd_vector_clear(&diff->rows);
    fd_vector_clear(&diff->calls);
    *diff = (fd_diff){.speed = 1};
}
