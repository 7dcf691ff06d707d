/* The state of pipeline engines in a session. */
#ifndef FD_PIPELINE_STATE_H
#define FD_PIPELINE_STATE_H

#include "capture/rules/job_rules.h"
#include "recording/context_tree.h"
#include "recording/job_kinds.h"
#include "recording/recording_format.h"

enum { FD_PIPELINE_TEXT = 200, FD_CALL_JOBS = 16 };

/* A transfer, from PREPARE through POST to WAIT. */
typedef struct fd_transfer {
    fd_job_kind kind;
    int64_t micro_batch;
    int64_t stage;
    uint64_t bytes;
    const void *work; /* result of POST; compared, never dereferenced */
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

/* The pipeline in its latest training iteration, or in the first evaluation if
 * there is no training. */
typedef struct fd_pipeline_summary {
    const char *engine; /* of the rules; NULL: none */
    bool trained;
    int64_t stages;
    int64_t processes;
    int64_t micro_batches;
    char name[FD_PIPELINE_TEXT];
} fd_pipeline_summary;

/* The state of a call until its end. */
typedef struct fd_pipeline_call {
    fd_job_role role;
    bool outermost; /* whether this is the outermost iteration */
    uint32_t count;
    fd_job *jobs[FD_CALL_JOBS];
    fd_transfer transfer;
} fd_pipeline_call;

/* A call that has begun. */
typedef struct fd_entered_call {
    const fd_frame *frame;
    fd_pipeline_call call;
} fd_entered_call;

/* The state of pipeline engines in a session. -1: unknown number. */
typedef struct fd_engine_pipeline {
    fd_pipeline_summary summary;
    const char *engine;  /* of the latest iteration */
    uint32_t iterations; /* number of iterations begun */
    uint32_t nesting;    /* open iterations, including nested ones */
    fd_job *iteration;   /* record of the running iteration, or NULL */
    bool eval;
    bool described; /* whether on_pipeline was called */
    bool own_order; /* whether the engine deviates from its schedule */
    bool changed;   /* whether facts have changed since the last on_change */
    int64_t stages; /* global stages: those of all processes, with chunks */
    int64_t processes;
    int64_t position; /* index of this process among them */
    int64_t micro_batches;
    char name[FD_PIPELINE_TEXT]; /* name of the engine's schedule class */
    uint64_t step; /* step of the counts, outside of iterations */
    FD_VECTOR(fd_counted) counts;
    FD_VECTOR(fd_transfer) prepared;
    FD_VECTOR(fd_transfer) posted;
    FD_VECTOR(fd_open_job) open;
    FD_VECTOR(fd_entered_call) entered;
    fd_map matched; /* index of a matched rule plus 1 -> 1 */
    /* owned: on_pipeline(engine, owner) -> (stage, processes, stages) or None,
     * called in the first iteration; may be NULL */
    PyObject *on_pipeline;
} fd_engine_pipeline;

/* Return the number of the running iteration plus 1, or 0. */
static inline uint32_t
fd_pipeline_iteration(const fd_engine_pipeline *pipeline)
{
    return pipeline->nesting > 0 ? pipeline->iterations : 0;
}

#endif
