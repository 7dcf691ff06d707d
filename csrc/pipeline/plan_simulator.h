/* Simulation of a plan with given times: start and end of each job, waiting
 * times and the makespan. Three kinds of transfers:
 *
 *   overlapped  data leaves when it is made, beside the work, and is there one
 *               transfer later; only a receive waits
 *   blocking    both ends wait until both have come to it, then one transfer;
 *               for each, or for all between two computations (fd_waiting)
 *   posted      blocking, but some sends are over for their stage at once: the
 *               transfer is from when both have come to it all the same
 *
 * Times are integers in any unit. */
#ifndef FD_PLAN_SIMULATOR_H
#define FD_PLAN_SIMULATOR_H

#include "pipeline/schedules/schedule_plan.h"

#define FD_NO_JOB UINT32_MAX

typedef struct fd_replay_stage {
    int64_t busy;  /* in F, B, I and W */
    int64_t first; /* where the first of these begins */
    int64_t last;  /* where the last of these ends */
} fd_replay_stage;

typedef struct fd_replay {
    int64_t makespan;
    int64_t *begin; /* owned, as the three below; a job */
    int64_t *end;
    uint32_t *cause;         /* the job without which it could have begun, or
                                been done, earlier; FD_NO_JOB: none */
    fd_replay_stage *stages; /* a stage */
    uint32_t last;           /* the job that ends last */
} fd_replay;

/* Times by kind and global stage, for fd_replay_price. NULL: 0. Of a transfer
 * the receiver's counts. */
typedef struct fd_replay_prices {
    const int64_t *of_kind[FD_JOB_KINDS]; /* borrowed */
} fd_replay_prices;

/* `times`, one a job of the plan, is filled. */
void fd_replay_price(int64_t *times, const fd_plan *plan,
                     const fd_replay_prices *prices);

/* `times` holds one a job, none negative. FD_EINVAL where the schedule has no
 * blocking transfers, one lacks its other end, stages wait for each other for
 * ever, or the times are more than 2^62 together. The replay is to be cleared in any case. */
fd_status fd_replay_run(fd_replay *replay, const fd_plan *plan,
                        const int64_t *times, bool blocking, fd_error *error);
void fd_replay_clear(fd_replay *replay);

/* `posted` holds one a job; those of sends count. All false: blocking. A
 * schedule without blocking transfers is simulated as if it had them. */
fd_status fd_replay_run_posted(fd_replay *replay, const fd_plan *plan,
                               const int64_t *times, const bool *posted,
                               fd_error *error);

typedef FD_VECTOR(uint32_t) fd_job_list;

/* The jobs, first to last, none of which could take longer without the whole
 * taking longer. */
fd_status fd_replay_critical(fd_job_list *list, const fd_replay *replay);

#endif
