/* A schedule compiled for many simulations with different parts: its
 * computations as jobs of pipeline/simulator/job_simulator.h, transfers as lags
 * between them. The result is that of pipeline/plan_simulator.h with overlapped
 * transfers, in seconds.
 *
 *     rank 0   [ F of part 0 ] ............ [ B of part 0 ]
 *                       \ transfer       / transfer
 *     rank 1             [ F of 1 ][ B of 1 ]
 *
 * A rank is a process of the pipeline; it runs `chunks` parts of the model. */
#ifndef FD_COMPILED_SCHEDULE_H
#define FD_COMPILED_SCHEDULE_H

#include "pipeline/planner/plan_part.h"
#include "pipeline/schedules/schedule_plan.h"
#include "pipeline/simulator/job_simulator.h"

typedef struct fd_compiled {
    fd_plan plan; /* the schedule itself; a part is a global stage */
    fd_simulation simulation;
    int64_t
        *durations; /* owned, as the next; F, B and half a B of each part */
    int64_t *lags;  /* 0, then the transfer of each part */
    FD_VECTOR(uint32_t)
    in_flight; /* rank, then micro-batches in flight per chunk; no entry of a
                  rank is within another */
} fd_compiled;

/* FD_EINVAL: no engine supports it. Clear it in any case. */
fd_status fd_compiled_make(fd_compiled *compiled,
                           const fd_plan_request *request, fd_error *error);
void fd_compiled_clear(fd_compiled *compiled);

/* Seconds from the first job to the end of the last, gradients reduced. */
double fd_compiled_time(fd_compiled *compiled, const fd_part *parts);

/* The peak of bytes on a rank. Parts without known bytes count as 0. */
double fd_compiled_memory(const fd_compiled *compiled, uint32_t rank,
                          const fd_part *parts);

#endif
