#include "pipeline/recorded/pipeline_clocks.h"

#include "clocks/clock_fit.h"

typedef FD_VECTOR(fd_clock_bound) bound_list;

/* Collect bounds of the clock of a rank, from transfers with ranks of known
 * clocks. */
static fd_status
collect_bounds(bound_list *bounds, int64_t *unsure, const fd_pipe *p,
               uint32_t at)
{
    const fd_pipe_rank *rank = &p->ranks.list[at];
    fd_status status = FD_OK;
    bounds->count = 0;
    *unsure = 0;
    for (uint32_t i = rank->first; i < rank->end && status == FD_OK; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        const fd_pipe_job *other =
            job->other == FD_NO_PIPE_JOB ? NULL : &p->jobs.list[job->other];
        if (other == NULL || other->at == at
            || p->ranks.list[other->at].unsure < 0) {
            continue;
        }
        int64_t theirs = p->ranks.list[other->at].unsure;
        *unsure = theirs > *unsure ? theirs : *unsure;
        bool sends = fd_pipe_sends(job);
        status = fd_vector_push(
            bounds,
            (fd_clock_bound){.own = sends ? job->start : job->end,
                             .other = sends ? other->end : other->start,
                             .earlier = sends});
    }
    return status;
}

static void
move_rank(fd_pipe *p, uint32_t at, const fd_clock_map *map)
{
    fd_pipe_rank *rank = &p->ranks.list[at];
    for (uint32_t i = rank->first; i < rank->end; i++) {
        fd_pipe_job *job = &p->jobs.list[i];
        job->start = fd_clock_apply(map, job->start);
        job->end = fd_clock_apply(map, job->end);
    }
    rank->moved = map->offset_ns;
}

/* Set the clock of a rank from its bounds. Return whether the clock became
 * known. */
static fd_status
settle_clock(bool *done, bound_list *bounds, fd_pipe *p, uint32_t at)
{
    fd_clock_fit fit;
    int64_t unsure;
    fd_status status = collect_bounds(bounds, &unsure, p, at);
    if (status != FD_OK || bounds->count == 0) {
        return status;
    }
    status = fd_clock_fit_bounds(bounds->list, bounds->count, &fit);
    if (status == FD_EINVAL) {
        return FD_OK; /* one direction gives no bound */
    }
    if (status == FD_OK) {
        move_rank(p, at, &fit.map);
        p->ranks.list[at].unsure = fit.uncertainty_ns + unsure;
        *done = true;
    }
    return status;
}

/* Begin lines without a known clock: use the clock of the first rank. */
static void
begin_lines(fd_pipe *p)
{
    for (uint32_t line = 0; line < p->lines; line++) {
        fd_pipe_rank *first = NULL;
        bool known = false;
        for (uint32_t i = 0; i < p->ranks.count; i++) {
            fd_pipe_rank *rank = &p->ranks.list[i];
            if (rank->line == line) {
                known = known || rank->unsure >= 0;
                first = first == NULL ? rank : first;
            }
        }
        if (!known && first != NULL) {
            first->unsure = 0;
        }
    }
}

fd_status
fd_pipeline_clocks(fd_pipe *p)
{
    bound_list bounds = {NULL, 0, 0};
    fd_status status = FD_OK;
    bool done = true;
    begin_lines(p);
    while (done && status == FD_OK) {
        done = false;
        for (uint32_t i = 0; i < p->ranks.count && status == FD_OK; i++) {
            if (p->ranks.list[i].unsure < 0) {
                status = settle_clock(&done, &bounds, p, i);
            }
        }
    }
    fd_vector_clear(&bounds);
    return status;
}

fd_status
fd_pipeline_check_clocks(const fd_pipe *p, fd_error *error)
{
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        const fd_pipe_rank *rank = &p->ranks.list[i];
        for (uint32_t j = 0; j < i; j++) {
            if (p->ranks.list[j].line == rank->line
                && (rank->unsure < 0 || p->ranks.list[j].unsure < 0)) {
                return fd_fail(error, FD_EINVAL,
                               "the clocks of rank %u and rank %u are not"
                               " aligned: they are of different hosts; omit"
                               " --require-aligned-clocks for bounds",
                               p->ranks.list[j].rank, rank->rank);
            }
        }
    }
    return FD_OK;
}
