/* The schedule of a recorded pipeline: its plan with measured times. */
#ifndef FD_PIPELINE_SCHEDULE_H
#define FD_PIPELINE_SCHEDULE_H

#include "pipeline/plan_simulator.h"
#include "pipeline/report/pipeline_idle.h"

typedef struct fd_pipe_schedule {
    bool known;    /* false: only `micro_batches` is set */
    bool *posted;  /* owned; per job of the plan: a send that does not wait.
                    * NULL: no transfers are recorded */
    bool blocking; /* transfers are recorded, and no send is posted */
    bool mixed;    /* some sends are posted, others are not */
    uint32_t micro_batches;
    fd_plan plan;   /* owned */
    int64_t *times; /* owned; per job of the plan: mean ns, including the
                     * launch gap before it; transfers without waiting */
    int64_t *prices[FD_JOB_KINDS]; /* owned; mean ns by kind and global
                                    * stage */
    char difference[160]; /* first difference from the order of the named
                           * schedule, or "" */
} fd_pipe_schedule;

/* Set `posted` (one per job) for fd_replay_run_posted with another plan.
 * Return false if transfers are overlapped. */
bool fd_pipe_schedule_posts(const fd_pipe_schedule *found, const fd_plan *plan,
                            bool *posted);

/* Find the schedule: compare the drawn iteration with the schedule that the
 * engine named, or with all schedules if `named` is FD_SCHEDULES. Clear the
 * result also after a failure. */
fd_status fd_pipe_find_schedule(fd_pipe_schedule *found, const fd_pipe *p,
                                const fd_pipe_idle *idle, fd_schedule named);
void fd_pipe_schedule_clear(fd_pipe_schedule *found);

#endif
