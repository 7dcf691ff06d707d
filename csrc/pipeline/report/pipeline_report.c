#include "pipeline/report/pipeline_report.h"

#include "pipeline/report/pipeline_clocks.h"

/* Check that ranks of a line have a common clock, needed for their order. */
static fd_status
check_clocks(const fd_pipe *p, fd_error *error)
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

static fd_status
check_choice(const fd_pipe *p, const fd_pipe_choice *choice, int32_t drawn,
             fd_error *error)
{
    if (!choice->given || drawn >= 0 || p->iterations.count == 0) {
        return FD_OK;
    }
    return fd_fail(error, FD_EINVAL,
                   "no iteration from %d up to %d was recorded whole: there"
                   " are %d to %d",
                   choice->from, choice->to, p->iterations.list[0],
                   p->iterations.list[p->iterations.count - 1]);
}

/* Return the line with the longest duration in the drawn iteration. */
static uint32_t
longest_line(const fd_pipe_report *r)
{
    uint32_t line = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < r->pipeline.ranks.count; i++) {
        const fd_pipe_share *share = fd_pipe_share_of(
            r->idle.shares, &r->pipeline, i, (uint32_t)r->idle.drawn);
        if (share->chosen && share->end - share->start > most) {
            most = share->end - share->start;
            line = r->pipeline.ranks.list[i].line;
        }
    }
    return line;
}

fd_status
fd_pipeline_report(fd_pipe_report *r, const fd_pipe_request *request,
                   fd_error *error)
{
    fd_pipe *p = &r->pipeline;
    fd_status status = request->strict ? check_clocks(p, error) : FD_OK;
    fd_then(status, fd_pipeline_match(&r->matches, p));
    fd_then(status, fd_pipeline_clocks(p));
    if (status == FD_OK) {
        r->early = fd_pipeline_early(p);
        fd_pipeline_meet(p);
        status = fd_pipeline_idle(&r->idle, p, &request->choice);
    }
    fd_then(status, check_choice(p, &request->choice, r->idle.drawn, error));
    if (status == FD_OK && r->idle.drawn >= 0) {
        r->drawn_line = longest_line(r);
        status = fd_pipeline_path(&r->path, p, &r->idle, r->drawn_line,
                                  (uint32_t)r->idle.drawn);
    }
    if (status == FD_OK) {
        status =
            fd_pipe_find_schedule(&r->schedule, p, &r->idle, request->named);
    }
    return fd_then(status,
                   fd_pipeline_ifs(&r->ifs, &r->schedule, &request->layers));
}

void
fd_pipe_report_clear(fd_pipe_report *r)
{
    fd_pipe_clear(&r->pipeline);
    fd_pipe_matches_clear(&r->matches);
    fd_pipe_idle_clear(&r->idle);
    fd_pipe_path_clear(&r->path);
    fd_pipe_schedule_clear(&r->schedule);
    fd_pipe_ifs_clear(&r->ifs);
}
