/* The state of pipeline engines that a session follows. */
#ifndef FD_PIPELINE_STATE_H
#define FD_PIPELINE_STATE_H

#include "capture/rules/job_rules.h"
#include "pipeline/plan_comparison.h"
#include "recording/context_tree.h"
#include "recording/recording_format.h"

enum { FD_PIPELINE_TEXT = 200, FD_CALL_JOBS = 16 };

/* A transfer on its way from PREPARE over POST to WAIT. */
typedef struct fd_transfer {
    fd_job_kind kind;
    int64_t micro_batch;
    int64_t stage;
    uint64_t bytes;
    const void *work; /* what POST answered, compared and never used */
} fd_transfer;

typedef struct fd_counted {
    uint32_t node;
    int64_t stage;
    uint32_t count;
} fd_counted;

typedef struct fd_open_job {
    fd_job *job;
    fd_tree *tree;
    uint32_t context;
    fd_job_kind kind;
} fd_open_job;

/* The pipeline as its latest training iteration was, or the first evaluation
 * where there was none. */
typedef struct fd_pipeline_summary {
    fd_job_engine engine;
    bool trained;
    bool planned; /* compared with the plan of `schedule` */
    fd_schedule schedule;
    int64_t globals;
    int64_t processes;
    int64_t micro_batches;
    char name[FD_PIPELINE_TEXT];
} fd_pipeline_summary;

/* What a call does to its end. */
typedef struct fd_pipeline_call {
    fd_job_role role;
    bool outermost; /* of the iterations */
    uint32_t count;
    fd_job *jobs[FD_CALL_JOBS];
    fd_transfer transfer;
} fd_pipeline_call;

/* A call whose beginning and end are told apart (sys.monitoring). */
typedef struct fd_entered_call {
    const fd_frame *frame;
    fd_pipeline_call call;
} fd_entered_call;

/* Of a session. */
typedef struct fd_engine_pipeline {
    fd_pipeline_summary summary;
    fd_job_engine engine; /* of the latest iteration */
    uint32_t iterations;  /* begun */
    uint32_t nesting;     /* open ones: 0 or 1, and more inside */
    bool eval;
    bool asked;      /* on_pipeline has been called */
    bool failed;     /* out of memory: nothing is compared */
    bool unplanned;  /* nor when the engine has an order of its own */
    bool changed;    /* there are facts that were not told yet */
    int64_t globals; /* stages, chunks counted; -1: not known, as below */
    int64_t processes;
    int64_t place; /* of this process */
    int64_t micro_batches;
    char name[FD_PIPELINE_TEXT];       /* of the engine's schedule class */
    char difference[FD_PIPELINE_TEXT]; /* the first; "" */
    uint64_t step; /* counted in, where there is no iteration */
    fd_plan plan;
    bool planned;                   /* the plan is that of the iteration */
    fd_plan_request request;        /* that the plan was made for */
    uint32_t cursors[FD_JOB_KINDS]; /* places in the plan's jobs */
    FD_VECTOR(fd_counted) counts;
    FD_VECTOR(fd_transfer) prepared;
    FD_VECTOR(fd_transfer) posted;
    FD_VECTOR(fd_open_job) open;
    FD_VECTOR(fd_entered_call) entered;
    FD_VECTOR(fd_executed) executed; /* in this iteration */
    FD_VECTOR(fd_job *) records;     /* parallel; NULL: found no room */
    fd_map matched;                  /* number of a rule plus 1 -> 1 */
    PyObject *on_pipeline; /* owned: on_pipeline(engine, owner) -> (stage,
                              processes, stages) or None, called in the first
                              iteration; NULL */
} fd_engine_pipeline;

/* The number of the running iteration plus 1, 0 outside. */
static inline uint32_t
fd_pipeline_iteration(const fd_engine_pipeline *pipeline)
{
    return pipeline->nesting > 0 ? pipeline->iterations : 0;
}

fd_engine_pipeline *fd_pipeline_new(void);
void fd_pipeline_free(fd_engine_pipeline *pipeline);

#endif
