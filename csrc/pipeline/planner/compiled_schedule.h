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
    fd_plan plan; /* the schedule; a part is a global stage */
    fd_simulation simulation;
    int64_t *durations; /* owned, like the next; of F, B and half a B of each
                     * part */
    int64_t *lags;      /* 0, then the transfer time of each part */
    /* entries of a rank and its micro-batches in flight per chunk; no entry of
     * a rank is contained in another */
    FD_VECTOR(uint32_t) in_flight;
} fd_compiled;

/* Compile a schedule. FD_EINVAL: no engine supports it. Clear it also after a
 * failure. */
fd_status fd_compiled_make(fd_compiled *compiled,
                           const fd_plan_request *request, fd_error *error);
void fd_compiled_clear(fd_compiled *compiled);

/* Return the seconds from the first job to the end of the last one, including
 * the reduction of gradients. */
double fd_compiled_time(fd_compiled *compiled, const fd_part *parts);

/* Return the peak of bytes on a rank. Parts of unknown size count as 0. */
double fd_compiled_memory(const fd_compiled *compiled, uint32_t rank,
                          const fd_part *parts);

#endif
