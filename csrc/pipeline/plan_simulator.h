/* Simulation of a plan with given times: start and end of each job, waiting
 * times and the makespan. Three kinds of transfers:
 *
 *   overlapped  data is sent when computed, in parallel to the work, and
 *               arrives one transfer later; only a receive waits
 *   blocking    both ends wait until both reach the transfer, which then
 *               starts; one by one, or all between two computations (fd_waiting)
 *   posted      blocking, but some sends return at once; their transfers still
 *               start when both ends reach them
 *
 * Times are integers in any unit. */
#ifndef FD_PLAN_SIMULATOR_H
#define FD_PLAN_SIMULATOR_H

#include "base/arena.h"
#include "recording/job_kinds.h"

#define FD_NO_JOB UINT32_MAX

/* How the engines of a schedule wait for blocking transfers. */
typedef enum fd_waiting {
    FD_WAIT_EACH,     /* for one at a time: DeepSpeed */
    FD_WAIT_TOGETHER, /* for all between two computations together */
    FD_WAIT_NEVER     /* transfers are asynchronous, or absent */
} fd_waiting;

/* A row of the table that python/fastdispatch/read/schedule_jobs.py makes. */
typedef struct fd_plan_job {
    int32_t kind;        /* fd_job_kind */
    int32_t step;        /* number within its stage, from 0 */
    int32_t micro_batch; /* -1: no micro-batch */
    int32_t buffer;      /* -1: the engine has no buffer numbers */
    int32_t stage;       /* global */
    int32_t peer;        /* global stage at the other end; -1: no transfer */
} fd_plan_job;

/* The jobs of each stage of a pipeline schedule in order.
 *
 *     jobs   [ stage 0: step 0, step 1, ... ][ stage 1 ] ... [ stage S-1 ]
 *     first    ^                              ^              ^         S+1 */
typedef struct fd_plan {
    const char *schedule; /* name, for messages */
    uint32_t stages;
    uint32_t globals; /* number of global stages: stages with chunks */
    uint32_t micro_batches;
    fd_waiting waiting;
    const uint32_t *first;   /* stages + 1 indices in `jobs` */
    const fd_plan_job *jobs; /* borrowed, like `first` */
    uint32_t count;
} fd_plan;

/* Check that all numbers of the plan are in range. */
bool fd_plan_fits(const fd_plan *plan);

typedef struct fd_replay_stage {
    int64_t busy;  /* time in F, B, I and W */
    int64_t first; /* start of the first such job */
    int64_t last;  /* end of the last such job */
} fd_replay_stage;

typedef FD_VECTOR(uint32_t) fd_job_list;

typedef struct fd_replay {
    int64_t makespan;
    int64_t *begin; /* begin of each job */
    int64_t *end;
    uint32_t *cause; /* the job that delayed its start or end, or FD_NO_JOB */
    fd_replay_stage *stages; /* per stage */
    uint32_t last;           /* the job that ends last */
    fd_job_list critical;    /* the critical path: jobs in order, each of which
                              * determines the makespan */
} fd_replay;

/* The transfers of a simulation, and the time of each job, not negative. */
typedef struct fd_prices {
    const int64_t *times; /* borrowed, like the next */
    const bool *posted;   /* per job, used for sends; all false: blocking.
                           * NULL: no posted sends */
    bool blocking;        /* without posted sends; false: overlapped */
} fd_prices;

/* Simulate a plan that fits; the replay has the memory of the arena.
 * FD_EINVAL: a schedule without blocking transfers, unless sends are posted; a
 * transfer that does not have exactly one other end; a deadlock; times with a
 * sum above 2^62. */
fd_status fd_replay_run(fd_replay *replay, fd_arena *arena,
                        const fd_plan *plan, const fd_prices *prices,
                        fd_error *error);

#endif
