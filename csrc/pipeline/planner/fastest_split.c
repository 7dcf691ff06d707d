#include "pipeline/planner/fastest_split.h"

#include <math.h>

#define EFFORT (UINT64_C(1) << 32)

/* The ratio of the bounds at which the optimum between them is computed. */
#define CLOSE 1e-2

typedef struct search {
    fd_arena *arena;
    const fd_optimum_request *request;
    fd_optimum *best; /* the plan with time `high`, if any */
    double low;       /* lower bound */
    double high;
    uint64_t looked;
} search;

/* Search for a plan of at most `time` seconds and store it as the best. Times
 * below `floor` are equally good. */
static fd_status
find_below(search *s, double time, double floor)
{
    fd_optimum found;
    fd_optimum_request request = *s->request;
    uint64_t effort = request.effort > 0 ? request.effort : EFFORT;
    if (s->looked >= effort) {
        return FD_EFULL;
    }
    request.effort = effort - s->looked;
    request.cap = fmin(fd_loosened(time), request.cap);
    request.floor = floor;
    fd_watch_bounds(request.watch, s->low, s->high);
    fd_status status = fd_optimum_find(&found, s->arena, &request);
    s->looked += found.looked;
    if (status == FD_OK) {
        fd_arena_drop(s->best->stages.list);
        *s->best = found;
        s->high = found.time;
    }
    if (status == FD_EINVAL) {
        s->low = fmax(s->low, time);
    }
    return status;
}

/* Find any plan. The first caps are close to the lower bound, since a smaller
 * cap leaves fewer possible cuts. */
static fd_status
find_any(search *s)
{
    const fd_states *states = s->request->states;
    double from = s->low;
    double margin =
        fmin(s->request->cap, states->times[states->count - 1]) - from;
    for (double share = 1.0 / 256; margin > 0 && share <= 1; share *= 4) {
        double time = from + share * margin;
        fd_status status = find_below(s, time, time);
        if (status != FD_EINVAL) {
            return status;
        }
    }
    return find_below(s, INFINITY, s->low);
}

static fd_status
narrow_bounds(search *s)
{
    fd_status status = FD_OK;
    while (s->high > s->low * (1 + CLOSE)
           && (status == FD_OK || status == FD_EINVAL)) {
        double middle = s->low + (s->high - s->low) / 2;
        status = find_below(s, middle, middle);
    }
    return status == FD_EINVAL ? FD_OK : status;
}

static fd_status
find_optimum(search *s)
{
    /* With several levels, most time is spent in the inner levels whatever the
     * cap: make one decision. */
    bool levels = s->request->costs.levels > 1;
    fd_status status = levels ? find_below(s, INFINITY, s->low) : find_any(s);
    /* The bounds have met: find the first of equally good plans. */
    if (status == FD_OK && (levels || s->high <= s->low)) {
        s->low = s->high;
        return FD_OK;
    }
    fd_then(status, narrow_bounds(s));
    fd_then(status, find_below(s, s->high, s->low));
    if (status == FD_OK) {
        s->low = s->high;
        status = find_below(s, s->high, s->high);
    }
    return status;
}

/* Return the lower bound. If not all states are known, it must include plans
 * with other states. */
static double
bound_of(const search *s)
{
    bool complete = s->request->states->complete;
    double bound = complete ? s->low : s->request->floor * (1 - 2e-12);
    return fmin(bound, s->high);
}

fd_status
fd_optimum_search(fd_optimum *best, fd_arena *arena,
                  const fd_optimum_request *request)
{
    *best = (fd_optimum){.time = INFINITY};
    search s = {.arena = arena,
                .request = request,
                .best = best,
                .low = request->floor,
                .high = INFINITY};
    fd_status status = find_optimum(&s);
    best->bound = bound_of(&s);
    return status == FD_EFULL && isfinite(s.high) ? FD_OK : status;
}
