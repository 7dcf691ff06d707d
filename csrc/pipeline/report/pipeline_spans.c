#include "pipeline/report/pipeline_spans.h"

typedef struct iteration_span {
    int64_t start;
    int64_t end;
    uint32_t present;
    bool broken; /* a job in it did not end normally */
} iteration_span;

static bool
is_empty(fd_pipe_cell cell)
{
    return cell.end == cell.first;
}

static void
widen_span(iteration_span *w, const fd_pipe *p, fd_pipe_cell cell)
{
    w->present += !is_empty(cell);
    for (uint32_t i = cell.first; i < cell.end; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        w->start = job->ready < w->start ? job->ready : w->start;
        w->end = job->end > w->end ? job->end : w->end;
        w->broken =
            w->broken || (job->flags & (FD_PIPE_OPEN | FD_PIPE_FAILED)) != 0;
    }
}

static void
find_span(fd_pipe_share *shares, const fd_pipe *p, uint32_t line,
          uint32_t iteration)
{
    iteration_span w = {INT64_MAX, INT64_MIN, 0, false};
    uint32_t members = 0;
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        if (p->ranks.list[i].line == line) {
            fd_pipe_cell cell = fd_pipeline_cell(p, i, iteration);
            members++;
            widen_span(&w, p, cell);
            /* The last iteration of a killed process is incomplete. */
            w.broken = w.broken
                    || (p->ranks.list[i].killed && !is_empty(cell)
                        && cell.end == p->ranks.list[i].end);
        }
    }
    for (uint32_t i = 0; i < p->ranks.count && w.present > 0; i++) {
        if (p->ranks.list[i].line == line) {
            fd_pipe_share *share = fd_pipe_share_of(shares, p, i, iteration);
            share->start = w.start;
            share->end = w.end;
            share->whole = w.present == members && !w.broken;
        }
    }
}

/* Return the first complete iteration, and count all complete ones. */
static uint32_t
first_whole(fd_pipe_share *shares, const fd_pipe *p, uint32_t *count)
{
    uint32_t first = p->iterations.count;
    *count = 0;
    for (uint32_t j = 0; j < p->iterations.count; j++) {
        bool whole = false;
        for (uint32_t i = 0; i < p->ranks.count && !whole; i++) {
            whole = fd_pipe_share_of(shares, p, i, j)->whole;
        }
        first = whole && *count == 0 ? j : first;
        *count += whole;
    }
    return first;
}

static void
choose_iterations(fd_pipe_share *shares, const fd_pipe *p,
                  const fd_pipe_choice *choice)
{
    uint32_t count;
    uint32_t first = first_whole(shares, p, &count);
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        for (uint32_t j = 0; j < p->iterations.count; j++) {
            fd_pipe_share *share = fd_pipe_share_of(shares, p, i, j);
            int32_t number = p->iterations.list[j];
            bool selected = choice->given
                              ? number >= choice->from && number < choice->to
                              : j != first || count == 1;
            share->chosen = selected && share->end > share->start
                         && (share->whole || count == 0);
        }
    }
}

/* Return the chosen iteration with the median duration. */
static int32_t
middle_iteration(fd_pipe_share *shares, const fd_pipe *p)
{
    for (uint32_t i = 0; i < p->ranks.count; i++) {
        uint32_t chosen = 0;
        for (uint32_t j = 0; j < p->iterations.count; j++) {
            chosen += fd_pipe_share_of(shares, p, i, j)->chosen;
        }
        for (uint32_t j = 0; j < p->iterations.count && chosen > 0; j++) {
            const fd_pipe_share *at = fd_pipe_share_of(shares, p, i, j);
            uint32_t below = 0;
            for (uint32_t k = 0; k < p->iterations.count; k++) {
                const fd_pipe_share *than = fd_pipe_share_of(shares, p, i, k);
                int64_t longer =
                    (at->end - at->start) - (than->end - than->start);
                below +=
                    than->chosen && (longer > 0 || (longer == 0 && k < j));
            }
            if (at->chosen && below == (chosen - 1) / 2) {
                return (int32_t)j;
            }
        }
    }
    return -1;
}

int32_t
fd_pipeline_iteration_spans(fd_pipe_share *shares, const fd_pipe *p,
                            const fd_pipe_choice *choice)
{
    for (uint32_t line = 0; line < p->lines; line++) {
        for (uint32_t j = 0; j < p->iterations.count; j++) {
            find_span(shares, p, line, j);
        }
    }
    choose_iterations(shares, p, choice);
    return middle_iteration(shares, p);
}
