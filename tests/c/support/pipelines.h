/* Recorded pipelines for tests: plans played, and their jobs as if ranks had
 * recorded them. */
#ifndef PIPELINES_H
#define PIPELINES_H

#include "check.h"

#include "pipeline/report/pipeline_report.h"

/* F = forward[g] or 10, B = backward[g] or twice that, I and W half of it, of
 * each global stage; times a million. */
typedef struct pipeline_wish {
    const char *schedule;
    uint32_t stages;
    uint32_t micro_batches;
    const int64_t *forward;
    int64_t transfer; /* blocking where it is not 0, unless they are posted */
    bool posts;       /* sends are posted, receivers alone wait */
    bool moves;       /* transfers are jobs, too */
    uint32_t iterations; /* 0: 1 */
    uint32_t lines;      /* 0: 1 */
    const int64_t *skew; /* by stage, ns */
    int32_t absent;      /* a stage, plus 1, without recording */
} pipeline_wish;

enum { PIPELINE_UNIT = 1000000 };

/* Not settled. */
fd_status pipeline_played(fd_pipe *p, const pipeline_wish *wish);

/* Settled and reported on. */
fd_status pipeline_reported(fd_pipe_report *report, const pipeline_wish *wish,
                            fd_schedule named);

/* A job added by hand. */
fd_status pipeline_job(fd_pipe *p, const char *kind, int32_t stage,
                       int32_t micro_batch, int64_t start, int64_t end);

/* The first job of a kind and micro-batch on a stage; NULL: none. */
const fd_pipe_job *pipeline_find(const fd_pipe *p, const char *kind,
                                 int32_t stage, int32_t micro_batch);

#endif
