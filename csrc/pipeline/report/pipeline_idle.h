/* Where the time of each rank went in each iteration of its line: busy, or
 * idle and why. Every nanosecond is counted once, so the parts add up exactly.
 *
 *     iteration   from the first begin of a job of the line to the last end
 *     busy        in F, B, I and W
 *     waiting     in a transfer until its other end has come; before a job
 *                 until what it needs is made; after the last job:
 *                   warm-up    before the rank's first backward pass
 *                   cool-down  after its last forward pass
 *                   steady     between: a balanced schedule has none
 *     the rest    transfer (both ends are there), launch (nothing to wait for
 *                 and nothing done), load, reduce, optimizer, unmatched
 *                 transfers, other jobs */
#ifndef FD_PIPELINE_IDLE_H
#define FD_PIPELINE_IDLE_H

#include "pipeline/report/pipeline_spans.h"

extern const char *const fd_pipe_part_names[FD_PARTS];

/* The part that a job is when nothing is waited for. */
fd_pipe_part fd_pipe_part_of(const fd_pipe_job *job);

/* A span of a rank's time, all of one part. */
typedef struct fd_pipe_stretch {
    int64_t start;
    int64_t end;
    uint32_t at;       /* place in ranks */
    uint32_t job;      /* FD_NO_PIPE_JOB: between jobs */
    uint32_t for_rank; /* waited for, place in ranks; FD_NO_PIPE_JOB: nobody */
    int32_t iteration; /* place in iterations */
    uint8_t part;
} fd_pipe_stretch;

typedef struct fd_pipe_idle {
    fd_pipe_share *shares; /* owned; as cells of the pipeline */
    int64_t *waits; /* owned; rank x place: ns waited for it, in chosen ones */
    uint32_t *makers; /* owned; of a job: the one of another rank whose
                         result it needs and no receive brings */
    FD_VECTOR(fd_pipe_stretch) stretches; /* of iteration `drawn` */
    int32_t drawn; /* place in iterations, -1: none is chosen */
} fd_pipe_idle;

/* `ready` is set; `before` of all jobs is set here. To be cleared in any
 * case. */
fd_status fd_pipeline_idle(fd_pipe_idle *idle, fd_pipe *p,
                           const fd_pipe_choice *choice);
void fd_pipe_idle_clear(fd_pipe_idle *idle);

#endif
