/* The dependency of a job on the result of another rank. */
#ifndef FD_PIPELINE_DEPENDENCIES_H
#define FD_PIPELINE_DEPENDENCIES_H

#include "pipeline/report/pipeline_stats.h"

/* Set `producers`, one entry per job: the job on another rank that computes
 * the input of a computation, unless the rank has a receive for it; otherwise
 * FD_NO_PIPE_JOB. F depends on F of the previous stage, B and I depend on B or
 * I of the next stage. */
fd_status fd_pipeline_find_producers(uint32_t *producers, const fd_pipe *p);

typedef struct fd_pipe_dependency {
    int64_t time;  /* when the result is available */
    uint32_t rank; /* index of the rank; FD_NO_PIPE_JOB: no dependency */
} fd_pipe_dependency;

/* Return the dependency that delays the job `next`. Loads and similar jobs are
 * skipped, up to `last`. */
fd_pipe_dependency fd_pipeline_dependency(const fd_pipe *p,
                                          const uint32_t *producers,
                                          uint32_t next, uint32_t last);

/* Return whether two jobs are the same call. */
bool fd_pipeline_is_same_call(const fd_pipe_job *a, const fd_pipe_job *b);

#endif
