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

#include "pipeline/schedules/schedule_plan.h"

#define FD_NO_JOB UINT32_MAX

typedef struct fd_replay_stage {
    int64_t busy;  /* time in F, B, I and W */
    int64_t first; /* start of the first such job */
    int64_t last;  /* end of the last such job */
} fd_replay_stage;

typedef struct fd_replay {
    int64_t makespan;
    int64_t *begin; /* owned, like the next three; begin of each job */
    int64_t *end;
    uint32_t *cause; /* the job that delayed its start or end, or FD_NO_JOB */
    fd_replay_stage *stages; /* per stage */
    uint32_t last;           /* the job that ends last */
} fd_replay;

/* Simulate the plan. `times` has one entry per job, not negative. FD_EINVAL: a
 * schedule without blocking transfers, a transfer with one end, a deadlock, or
 * times with a sum above 2^62. Clear the replay also after a failure. */
fd_status fd_replay_run(fd_replay *replay, const fd_plan *plan,
                        const int64_t *times, bool blocking, fd_error *error);
void fd_replay_clear(fd_replay *replay);

/* Simulate with posted sends. `posted` has one entry per job, used for sends;
 * all false: blocking. A schedule without blocking transfers is simulated with
 * overlapped transfers. */
fd_status fd_replay_run_posted(fd_replay *replay, const fd_plan *plan,
                               const int64_t *times, const bool *posted,
                               fd_error *error);

typedef FD_VECTOR(uint32_t) fd_job_list;

/* List the critical path: jobs in order, each of which determines the
 * makespan. */
fd_status fd_replay_critical(fd_job_list *list, const fd_replay *replay);

/* Pairs of sends and receives. A transfer is identified by its direction, the
 * lower of its two global stages and its micro-batch. */

/* Set `others`, one entry per job of the plan, to the index of the other end
 * of each transfer, or to `none` for other jobs. FD_EINVAL: a transfer does
 * not have exactly one other end; the message names it. */
fd_status fd_pairs_find(uint32_t *others, uint32_t none, const fd_plan *plan,
                        fd_error *error);

#endif
