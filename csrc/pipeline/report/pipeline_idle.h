/* The time of each rank in each iteration of its line: busy, or idle by cause.
 * Each nanosecond is counted once, so that the parts add up exactly.
 *
 *     iteration   from the first start of a job of the line to the last end
 *     busy        in F, B, I and W
 *     waiting     in a transfer until the other end begins; before a job
 *                 until its input is computed; after the last job:
 *                   warm-up    before the rank's first backward pass
 *                   cool-down  after its last forward pass
 *                   steady     between: a balanced schedule has none
 *     the rest    transfer (both ends have begun), launch (neither waiting
 *                 nor working), load, reduce, optimizer, unmatched
 *                 transfers, other jobs */
#ifndef FD_PIPELINE_IDLE_H
#define FD_PIPELINE_IDLE_H

#include "pipeline/report/pipeline_spans.h"
#include "pipeline/report/pipeline_stats.h"

extern const char *const fd_pipe_part_names[FD_PARTS];

/* Return the part to which the time of a job, except waiting, is counted. */
fd_pipe_part fd_pipe_part_of(const fd_pipe_job *job);

/* An interval of a rank's time, all of one part. */
typedef struct fd_pipe_interval {
    int64_t start;
    int64_t end;
    uint32_t at;       /* index of the rank */
    uint32_t job;      /* FD_NO_PIPE_JOB: between jobs */
    uint32_t for_rank; /* index of the awaited rank; FD_NO_PIPE_JOB: no rank */
    int32_t iteration; /* index of the iteration */
    uint8_t part;
} fd_pipe_interval;

typedef struct fd_pipe_idle {
    fd_pipe_share *shares; /* owned; parallel to the cells of the pipeline */
    int64_t *waits;        /* owned; rank x position: ns of waiting in chosen
                     * iterations */
    uint32_t *producers;   /* owned; see fd_pipeline_find_producers */
    FD_VECTOR(fd_pipe_interval) intervals; /* of the iteration `drawn` */
    int32_t drawn; /* index of an iteration; -1: no iteration is chosen */
} fd_pipe_idle;

/* Compute the idle times. `ready` must be set; sets `before` of all jobs.
 * Clear the result also after a failure. */
fd_status fd_pipeline_idle(fd_pipe_idle *idle, fd_pipe *p,
                           const fd_pipe_choice *choice);
void fd_pipe_idle_clear(fd_pipe_idle *idle);

#endif
