/* What a job must wait for: the result of another rank. */
#ifndef FD_PIPELINE_DEPENDENCIES_H
#define FD_PIPELINE_DEPENDENCIES_H

#include "pipeline/report/pipeline_stats.h"

/* `makers`, one a job, gets for each computation the one that makes its input
 * on another rank, where no receive on its own rank brings it: F on the stage
 * before for F, B or I on the stage after for B and I; else FD_NO_PIPE_JOB. */
fd_status fd_pipeline_needs(uint32_t *makers, const fd_pipe *p);

typedef struct fd_pipe_need {
    int64_t time;  /* when it is there */
    uint32_t rank; /* place in ranks; FD_NO_PIPE_JOB: nothing is needed */
} fd_pipe_need;

/* What keeps the job `next` from beginning: loading and the like are passed
 * over, up to `last`. */
fd_pipe_need fd_pipeline_need(const fd_pipe *p, const uint32_t *makers,
                              uint32_t next, uint32_t last);

/* Whether two jobs are one call. */
bool fd_pipeline_is_twin(const fd_pipe_job *a, const fd_pipe_job *b);

#endif
