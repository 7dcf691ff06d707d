/* A lower bound of all pipelines that includes the network. All states are
 * divided into regions (pipeline/cuts/cut_regions.h), which bound the time,
 * the parameters and the bytes at the cut of each state in them. A stage from
 * a state in one region to a state in another needs a minimum number of
 * machines to compute the layers between them, to reduce their gradients, and
 * to pass the bytes of both cuts within a given time:
 *
 *     region    A ---- 2 machines ----> B ---- 1 machine ----> ...
 *
 * If all paths through the regions need too many machines, no plan is as fast,
 * and the time is a bound. Otherwise the regions on these paths are divided.
 * At the end their states are good candidates for cuts. With several levels,
 * the machines of all levels share one budget. */
#ifndef FD_NETWORK_BOUND_H
#define FD_NETWORK_BOUND_H

#include "pipeline/cuts/cut_regions.h"
#include "pipeline/planner/plan_costs.h"

typedef struct fd_network_bound {
    const fd_costs *costs; /* borrowed */
    double time;           /* seconds: no plan takes less */
    bool exact;            /* dividing regions cannot raise the bound */
    fd_cut_regions regions;
    /* owned; machine seconds per byte of parameters, by number of machines of
     * a stage; INFINITY: not a possible number */
    double *shares;
    uint32_t machines;
    uint64_t looked; /* number of pairs of regions examined so far */
} fd_network_bound;

/* Prepare the bound. `time`: a known lower bound, above 0. Clear it also after
 * a failure. */
fd_status fd_network_bound_make(fd_network_bound *bound, const fd_model *model,
                                const fd_layers *layers, const fd_costs *costs,
                                double time);
void fd_network_bound_clear(fd_network_bound *bound);

/* Raise the bound, at most to `most` seconds, with at most `regions` regions
 * and `effort` examined pairs of regions. */
fd_status fd_network_bound_raise(fd_network_bound *bound, double most,
                                 uint32_t regions, uint64_t effort);

#endif
