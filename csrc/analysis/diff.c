#include "analysis/diff.h"

#include "analysis/diff_side.h"

#include <math.h>
#include <stdlib.h>

/* A change is one when it is beyond what steps of one run differ by. Steps of
 * a run are not independent, so their number does not make it smaller. */
static const double DEVIATIONS = 2;

/* Of the time of a step: changes below are of no interest. */
static const double LEAST_SHARE = 0.005;

/* Shares below this say nothing about the speed of a machine. */
static const double SPEED_SHARE = 0.001;

typedef struct ratio {
    double value;
    double weight;
} ratio;

typedef FD_VECTOR(ratio) ratios;

static int
by_value(const void *left, const void *right)
{
    double a = ((const ratio *)left)->value;
    double b = ((const ratio *)right)->value;
    return a < b ? -1 : a > b;
}

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

/* What most of the time has in common is the machine's doing. */
static fd_status
find_speed(fd_diff *diff)
{
    ratios list = {NULL, 0, 0};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < diff->rows.count && status == FD_OK; i++) {
        const fd_diff_row *row = &diff->rows.list[i];
        double before = row->side[0].time;
        double after = row->side[1].time;
        if ((row->said & FD_DIFF_CALLS) == 0
            && before > SPEED_SHARE * diff->whole[0] && after > 0) {
            status = fd_vector_push(&list,
                                    ((ratio){after / before, before}));
        }
    }
    if (list.count > 0) {
        qsort(list.list, list.count, sizeof *list.list, by_value);
    }
    diff->speed = weighted_median(&list);
    fd_vector_clear(&list);
    return status;
}

static uint8_t
calls_said(const fd_diff *diff, double before, double after)
{
    bool same_length = diff->steps[0] == diff->steps[1];
    bool differ = same_length ? before < after || before > after
                              : fabs(before - after) >= 0.5;
    return before <= 0 && after > 0 ? FD_DIFF_NEW | FD_DIFF_CALLS
           : before > 0 && after <= 0 ? FD_DIFF_GONE | FD_DIFF_CALLS
           : differ ? FD_DIFF_CALLS
                    : 0;
}

static uint8_t
time_said(const fd_diff *diff, const fd_diff_row *row, double threshold)
{
    double before = row->side[0].time * diff->speed;
    double change = row->side[1].time - before;
    double noise = DEVIATIONS * hypot(row->side[0].spread * diff->speed,
                                      row->side[1].spread);
    double least = fmax(threshold * before,
                        LEAST_SHARE * diff->whole[0] * diff->speed);
    return fabs(change) <= fmax(noise, least) ? 0
           : change > 0                       ? FD_DIFF_SLOWER
                                              : FD_DIFF_FASTER;
}

static fd_status
judge(fd_diff *diff, const fd_diff_request *request)
{
    for (uint32_t i = 0; i < diff->rows.count; i++) {
        fd_diff_row *row = &diff->rows.list[i];
        row->said = calls_said(diff, row->side[0].calls, row->side[1].calls);
    }
    for (uint32_t i = 0; i < diff->calls.count; i++) {
        fd_diff_call *call = &diff->calls.list[i];
        call->said = calls_said(diff, call->calls[0], call->calls[1]);
    }
    diff->speed = 1;
    fd_status status = request->same_speed ? FD_OK : find_speed(diff);
    for (uint32_t i = 0; i < diff->rows.count; i++) {
        fd_diff_row *row = &diff->rows.list[i];
        row->said |= time_said(diff, row, request->threshold);
    }
    return status;
}

fd_status
fd_diff_make(fd_diff *diff, const fd_diff_request *request)
{
    *diff = (fd_diff){.speed = 1};
    for (int side = 0; side < 2; side++) {
        diff->steps[side] = fd_diff_steps(&request->sides[side]);
    }
    if (diff->steps[0] == 0 || diff->steps[1] == 0) {
        diff->steps[0] = 0;
        diff->steps[1] = 0;
    }
    fd_diff_join join = {.diff = diff};
    fd_status status = FD_OK;
    for (int side = 0; side < 2 && status == FD_OK; side++) {
        status = fd_diff_add(&join, request, side);
    }
    fd_map_clear(&join.rows);
    fd_map_clear(&join.calls);
    return status == FD_OK ? judge(diff, request) : status;
}

void
fd_diff_clear(fd_diff *diff)
{
    fd_text_pool_clear(&diff->keys);
    fd_vector_clear(&diff->rows);
    fd_vector_clear(&diff->calls);
    *diff = (fd_diff){.speed = 1};
}
