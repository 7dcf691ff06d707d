/* Which schedule the ranks of a pipeline followed, and how long each of its
 * jobs took: the plan with measured times. */
#ifndef FD_PIPELINE_SCHEDULE_H
#define FD_PIPELINE_SCHEDULE_H

#include "pipeline/plan_simulator.h"
#include "pipeline/report/pipeline_idle.h"

typedef struct fd_pipe_schedule {
    bool known;    /* else all below is empty but `micro_batches` */
    bool *posted;  /* owned; a job of the plan: a send that its stage does not
                     wait for. NULL: transfers are not among the jobs */
    bool blocking; /* they are, and none is so */
    bool mixed;    /* some are so and others not */
    uint32_t micro_batches;
    fd_plan plan;   /* owned */
    int64_t *times; /* owned; a job of the plan: mean ns, with the launch
                         gap before it; transfers without waiting */
    int64_t *prices[FD_JOB_KINDS]; /* owned; the same by global stage */
    char difference[160]; /* the first place where the order is another than
                             that of the schedule that was named; "" */
} fd_pipe_schedule;

/* How a replay of another plan would have its transfers, for `posted` (one a
 * job) of fd_replay_run_posted. False: overlapped. */
bool fd_pipe_schedule_posts(const fd_pipe_schedule *found, const fd_plan *plan,
                            bool *posted);

/* `named` is what the engine said, FD_SCHEDULES: nothing; then all schedules
 * are tried. The drawn iteration is compared. To be cleared in any case. */
fd_status fd_pipe_find_schedule(fd_pipe_schedule *found, const fd_pipe *p,
                                const fd_pipe_idle *idle, fd_schedule named);
void fd_pipe_schedule_clear(fd_pipe_schedule *found);

#endif
