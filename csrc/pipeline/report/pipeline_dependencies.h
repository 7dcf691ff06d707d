/* The dependency of a job on the result of another rank. */
#ifndef FD_PIPELINE_DEPENDENCIES_H
#define FD_PIPELINE_DEPENDENCIES_H

#include "pipeline/report/pipeline_stats.h"

/* Set `producers`, one per job: for each computation the one that produces its
 * input on another rank, if no receive on its own rank does: F on the stage
 * before for F, B or I on the stage after for B and I; else FD_NO_PIPE_JOB. */
fd_status fd_pipeline_find_producers(uint32_t *producers, const fd_pipe *p);

typedef struct fd_pipe_dependency {
    int64_t time;  /* when it is available */
    uint32_t rank; /* place in ranks; FD_NO_PIPE_JOB: no dependency */
} fd_pipe_dependency;

/* The dependency that delays the job `next`. Loads and similar jobs are
 * skipped, up to `last`. */
fd_pipe_dependency fd_pipeline_dependency(const fd_pipe *p,
                                          const uint32_t *producers,
                                          uint32_t next, uint32_t last);

/* Whether two jobs are the same call. */
bool fd_pipeline_is_same_call(const fd_pipe_job *a, const fd_pipe_job *b);

#endif
