/* The recorded jobs of a pipeline, by rank and iteration, with their stages,
 * on one clock.
 *
 *     ranks   [ rank 0           ][ rank 1           ] ...
 *     jobs    [ it. 0 ][ it. 1   ][ it. 0 ][ it. 1   ] ...   by start in each
 *
 * A line is a set of ranks with each stage once; replicas of a stage (data
 * parallel copies) are in different lines, without transfers between lines.
 * The position of a rank in its line is its lowest global stage. */
#ifndef FD_PIPELINE_STATS_H
#define FD_PIPELINE_STATS_H

#include "base/vector.h"
#include "recording/job_kinds.h"

/* Kinds in addition to those of fd_job_kind. */
enum {
    FD_PIPE_OTHER = FD_JOB_KINDS,
    FD_PIPE_WHOLE, /* the iteration itself */
    FD_PIPE_SEND,  /* a send until its direction is known */
    FD_PIPE_RECEIVE,
    FD_PIPE_KINDS
};

/* Bits of fd_pipe_job.flags. */
enum {
    FD_PIPE_POSTED = 1, /* a transfer started here and awaited in another
                          * job */
    FD_PIPE_FUSED = 2,  /* shares its interval with the adjacent job */
    FD_PIPE_OPEN = 4,   /* had not ended */
    FD_PIPE_FAILED = 8  /* ended by an exception */
};

#define FD_NO_PIPE_JOB UINT32_MAX

typedef struct fd_pipe_job {
    int64_t start; /* ns */
    int64_t end;
    uint64_t bytes;
    uint32_t at;    /* index of the rank */
    uint32_t row;   /* index in the recorded order of the rank's jobs */
    uint32_t other; /* the other end, or FD_NO_PIPE_JOB */
    int32_t iteration;
    int32_t micro_batch; /* -1: unknown, like the following numbers */
    int32_t stage;       /* global */
    int32_t peer;        /* global */
    int32_t buffer;
    uint8_t kind;
    uint8_t flags;
} fd_pipe_job;

typedef struct fd_pipe_rank {
    uint32_t rank;
    int32_t position; /* in its line; -1: no stage */
    int32_t data;     /* coordinates; -1: unknown */
    int32_t model;
    uint32_t line;
    uint32_t first; /* index of its first job */
    uint32_t end;
    uint32_t open;  /* number of open jobs, which are skipped */
    bool killed;    /* its recording is incomplete */
    int64_t moved;  /* ns added to its times: the offset to the common clock */
    int64_t unsure; /* maximum error in ns; -1: unknown */
} fd_pipe_rank;

typedef struct fd_pipe {
    FD_VECTOR(fd_pipe_rank) ranks;
    FD_VECTOR(fd_pipe_job) jobs;
    uint32_t lines;
    uint32_t stages; /* number of places */
    uint32_t chunks; /* maximum of global stages per rank */
    uint32_t globals;
    bool guessed;        /* no job states a stage: the stages are the ranks in
                          * order */
    uint32_t evals;      /* number of skipped jobs of evaluations */
    uint32_t unknown;    /* number of jobs of other kinds */
    uint32_t undirected; /* number of sends and receives without a direction */
} fd_pipe;

void fd_pipe_clear(fd_pipe *p);

/* Add the jobs of a rank after it and before the next rank. */
fd_status fd_pipeline_add_rank(fd_pipe *p, const fd_pipe_rank *rank);
fd_status fd_pipeline_add_job(fd_pipe *p, const fd_pipe_job *job);

/* Derive missing facts and sort, after the last job. Stages and chunks that are
 * set already are kept. */
void fd_pipeline_settle(fd_pipe *p);

/* Return the kind with this name in upper or lower case: the names above, and
 * load, forward, backward, send, receive, reduce, optimizer. */
uint8_t fd_pipe_kind_named(const char *word);

static inline bool
fd_pipe_moves(const fd_pipe_job *job)
{
    return fd_job_is_transfer((fd_job_kind)job->kind);
}

static inline bool
fd_pipe_sends(const fd_pipe_job *job)
{
    return fd_job_is_send((fd_job_kind)job->kind);
}

#endif
