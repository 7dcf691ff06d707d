/* A schedule made ready to be played many times: its computations in an order
 * in which each comes after what it waits for, so that one pass over them says
 * when each ends. What it answers is what pipeline/plan_simulator.h does, with
 * overlapped transfers, in doubles.
 *
 *     jobs    [ F of 0 on rank 0 | F of 0 on rank 1 | F of 1 on rank 0 | ... ]
 *     before        -                  -                  first job        of the rank
 *     data          -                first job            -                over a link
 *
 * A rank is a process of the pipeline; it holds `chunks` parts of the model. */
#ifndef FD_SCHEDULE_SIMULATOR_H
#define FD_SCHEDULE_SIMULATOR_H

#include "pipeline/planner/plan_part.h"
#include "pipeline/schedules/schedule_plan.h"

/* A part is a global stage of the plan. */
typedef struct fd_rehearsal_job {
    uint32_t before; /* place in jobs + 1; 0: none */
    uint32_t data;   /* the same */
    uint16_t part;
    uint16_t link; /* the part whose transfer `data` takes */
    uint8_t kind;  /* fd_job_kind */
} fd_rehearsal_job;

typedef struct fd_rehearsal {
    fd_plan plan;           /* the schedule itself */
    fd_rehearsal_job *jobs; /* owned, as all below */
    uint32_t count;
    uint32_t *last; /* a rank: place in jobs + 1 */
    double *ends;   /* a job: to work in */
    FD_VECTOR(uint32_t)
    holds; /* rank, then a count a chunk; no entry of a
                                  rank is within another */
} fd_rehearsal;

/* FD_EINVAL: no engine would run it. To be cleared in any case. */
fd_status fd_rehearsal_make(fd_rehearsal *rehearsal,
                            const fd_plan_request *request, fd_error *error);
void fd_rehearsal_clear(fd_rehearsal *rehearsal);

/* Seconds from the first job to the end of the last, gradients reduced. */
double fd_rehearsal_time(const fd_rehearsal *rehearsal, const fd_part *parts);

/* The most bytes a rank needs at once. Parts without bytes count as nothing. */
double fd_rehearsal_memory(const fd_rehearsal *rehearsal, uint32_t rank,
                           const fd_part *parts);

#endif
