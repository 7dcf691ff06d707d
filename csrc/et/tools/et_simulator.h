/* Simulation of the traces of all ranks: when each node would start and end.
 *
 *     ready   the end of the last node it depends on
 *     delay   own time of the enclosing call until the start
 *     begun   of a collective: the arrival of the last rank it waits for
 *
 *             ready      start        begun         end
 *     ----------|-- delay --|-- waiting --|-- transfer --|
 *
 * A node is two jobs of pipeline/simulator/job_simulator.h, its arrival and
 * its completion; a rank is a resource, and so is the arrival of all members
 * of a collective. Without changes each node starts and ends as measured. */
#ifndef FD_ET_SIMULATOR_H
#define FD_ET_SIMULATOR_H

#include "et/tools/et_ranks.h"
#include "et/tools/et_ready.h"
#include "pipeline/simulator/job_simulator.h"

typedef struct fd_et_scale {
    const char *name; /* of operators, including the nodes they enclose, or of
                       * kernels */
    double factor;
} fd_et_scale;

typedef struct fd_et_changes {
    const fd_et_scale *scales;
    size_t scale_count;
    double bandwidth;   /* factor for collectives and messages: 2 is twice as
                         * fast */
    int64_t latency_ns; /* added to each collective and message */
} fd_et_changes;

typedef struct fd_et_simulation {
    fd_et_sim_rank *ranks; /* owned */
    uint32_t count;
    fd_et_ref *members; /* owned; nodes sorted by match */
    uint32_t *first;    /* owned; index of the first member of each match, then
                         * the end */
    uint32_t *gathers;  /* owned; by match, the job that ends when all members
                         * have arrived; 0: no member waits for all */
    uint32_t matches;
    fd_simulation jobs;           /* owned, like the next three */
    FD_VECTOR(int64_t) lags;      /* per dependency */
    FD_VECTOR(fd_et_ref) sources; /* per dependency: the node to report */
    int64_t *durations;           /* per job */
    int64_t measured_begin;
    int64_t measured_end;
    int64_t end; /* simulated */
    fd_et_ref last;
    uint64_t broken; /* nodes that do not wait for other ranks */
} fd_et_simulation;

/* Prepare the simulation. Clear it also after a failure. */
fd_status fd_et_sim_make(fd_et_simulation *simulation, const fd_et *traces,
                         uint32_t count, const fd_et_ranks *ranks);
fd_status fd_et_sim_run(fd_et_simulation *simulation,
                        const fd_et_changes *changes);
void fd_et_sim_clear(fd_et_simulation *simulation);

#endif
