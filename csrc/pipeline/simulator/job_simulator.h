/* Discrete-event simulation of jobs, dependencies and resources.
 *
 *     resource 0   [ 0 ][  1  ]        [ 2 ]
 *                          \          /
 *     resource 1            [ 3 ][ 4 ]
 *
 * A job starts once each of its dependencies has ended and the lag of that
 * dependency has passed, or at 0 without dependencies, and takes its duration.
 * A resource handles its jobs in the order in which they were added: a job
 * cannot be simulated before the jobs added earlier. Time passes along
 * dependencies alone, so a job that occupies its resource is a dependency of
 * the next.
 *
 * The order of simulation depends on the structure alone. It is found once;
 * any number of runs with other durations and lags follow. */
#ifndef FD_JOB_SIMULATOR_H
#define FD_JOB_SIMULATOR_H

#include "base/vector.h"

#include <stdbool.h>

#define FD_SIM_NONE UINT32_MAX
#define FD_SIM_PLACED (UINT32_MAX - 1)

typedef struct fd_sim_job {
    uint32_t first; /* index of its first dependency */
    uint32_t count;
    uint32_t duration; /* index in the durations of a run */
} fd_sim_job;

typedef struct fd_sim_dependency {
    uint32_t job;
    uint32_t lag; /* index in the lags of a run */
} fd_sim_dependency;

typedef struct fd_simulation {
    FD_VECTOR(fd_sim_job) jobs;
    FD_VECTOR(fd_sim_dependency) dependencies;
    FD_VECTOR(uint32_t) resources; /* first job of each resource */
    uint32_t *next;    /* owned, like the following arrays; per resource: its
                        * first job that is not in `order` */
    uint32_t *blocker; /* per resource: the job for which its next job waits;
                        * or FD_SIM_NONE */
    uint32_t *link;    /* the next resource with the same blocker */
    /* per job: the first resource it blocks; FD_SIM_NONE: no resource;
     * FD_SIM_PLACED: the job is in `order` */
    uint32_t *waiting;
    uint32_t *order; /* jobs, sorted after all their dependencies */
    uint32_t ordered;
    int64_t *starts; /* per job */
    int64_t *ends;
    uint32_t *causes; /* per job: the dependency that ended last, the first one
                       * of several; FD_SIM_NONE: no dependencies */
} fd_simulation;

/* Add a resource; add a job to the last resource; add a dependency to the last
 * job. Dependencies on jobs that are added later are valid. */
fd_status fd_sim_add_resource(fd_simulation *simulation);
fd_status fd_sim_add_job(fd_simulation *simulation, uint32_t duration);
fd_status fd_sim_depend(fd_simulation *simulation, uint32_t job, uint32_t lag);

/* Allocate the arrays for the order and for runs, after the last job was
 * added. */
fd_status fd_sim_prepare(fd_simulation *simulation);

/* Order as many jobs as possible. Return false if resources wait for each
 * other; `next` is then the blocked job of each. Remove a dependency and call
 * it again, or stop. */
bool fd_sim_order(fd_simulation *simulation);

/* Return the end of the range of jobs of a resource. */
uint32_t fd_sim_end_of(const fd_simulation *simulation, uint32_t resource);

/* Set `starts`, `ends` and `causes` of all jobs in order. Sums saturate. */
void fd_sim_run(fd_simulation *simulation, const int64_t *durations,
                const int64_t *lags);
void fd_sim_clear(fd_simulation *simulation);

#endif
