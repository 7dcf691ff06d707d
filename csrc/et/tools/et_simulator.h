/* Simulation of the traces of all ranks: when each node would start and end.
 *
 *     ready   the end of the last node it depends on
 *     delay   own time of the enclosing call until the start
 *     begun   of a collective: the arrival of the last rank it waits for
 *
 *             ready      start        begun         end
 *     ----------|-- delay --|-- waiting --|-- transfer --|
 *
 * A node is two jobs of pipeline/simulator/job_simulator.h, its arrival and its
 * completion; a rank is a resource, and so is the arrival of all members of a
 * collective. Without changes each node starts and ends
 * as measured. */
#ifndef FD_ET_SIMULATOR_H
#define FD_ET_SIMULATOR_H

#include "et/tools/et_estimate.h"
#include "pipeline/simulator/job_simulator.h"

/* A node of a rank; place 0: none. */
typedef struct fd_et_ref {
    uint32_t rank;
    uint32_t place; /* + 1 */
} fd_et_ref;

typedef struct fd_et_sim_node {
    int64_t measured; /* its start; without times the earliest possible one */
    int64_t delay;    /* measured */
    int64_t launch;   /* from the start of the launching call */
    int64_t ready;    /* simulated, as the three below */
    int64_t start;
    int64_t begun;
    int64_t end;     /* of a node that encloses nothing */
    fd_et_ref after; /* the dependency that ended last */
    fd_et_ref late;  /* the last to arrive; none: the node itself */
    uint32_t last;   /* the last node it encloses on its thread, + 1 */
    uint32_t synced; /* the kernel that it waited for, + 1 */
    uint32_t match;  /* collective or message; 0: none */
    bool all;        /* waits for all others of its match, which are several */
    bool alone;      /* waits for none of them: a deadlock */
} fd_et_sim_node;

typedef struct fd_et_sim_rank {
    const fd_et *et;
    fd_et_sim_node *nodes; /* owned */
    double *factors;       /* owned; of each node's own time */
    uint32_t first_job;
} fd_et_sim_rank;

typedef struct fd_et_simulation {
    fd_et_sim_rank *ranks; /* owned */
    uint32_t count;
    fd_et_ref *members; /* owned; nodes of a match side by side */
    uint32_t *first;    /* owned; by match, and where the last ends */
    uint32_t *gathers;  /* owned; by match: the job that ends when all members
                             have arrived; 0: none waits for all */
    uint32_t matches;
    fd_simulation jobs;           /* owned, as the three below */
    FD_VECTOR(int64_t) lags;      /* per dependency */
    FD_VECTOR(fd_et_ref) sources; /* per dependency: the node to report */
    int64_t *durations;           /* per job */
    int64_t measured_begin;
    int64_t measured_end;
    int64_t end; /* simulated */
    fd_et_ref last;
    uint64_t broken; /* nodes that do not wait for other ranks */
} fd_et_simulation;

/* Clear it in any case. */
fd_status fd_et_sim_make(fd_et_simulation *simulation, const fd_et *traces,
                         uint32_t count, const fd_et_ranks *ranks);
fd_status fd_et_sim_run(fd_et_simulation *simulation,
                        const fd_et_changes *changes);
void fd_et_sim_clear(fd_et_simulation *simulation);

/* The end of a node with all it encloses on its thread: measured, and as
 * simulated in the last run. */
int64_t fd_et_measured_end(const fd_et_sim_rank *rank, uint32_t place);
int64_t fd_et_simulated_end(const fd_et_sim_rank *rank, uint32_t place);

#endif
