/* A lower bound of all pipelines that includes the network. All states are
 * divided into regions (pipeline/cuts/cut_regions.h), which bound the time,
 * the parameters and the bytes at the cut of each state in them. A plan of at
 * most some time needs, for each stage from a state in one region to a state
 * in another, at least so many machines that they compute the minimum of
 * layers between them, reduce their gradients, and pass the bytes of both
 * cuts:
 *
 *     region    A ---- 2 machines ----> B ---- 1 machine ----> ...
 *
 * If all ways through the regions need too many machines, no plan is as fast,
 * and the time is a bound. Otherwise the regions on these ways are divided. At
 * the end their states are good places to cut. With several levels, the
 * machines of all levels share one budget. */
#ifndef FD_NETWORK_BOUND_H
#define FD_NETWORK_BOUND_H

#include "pipeline/cuts/cut_regions.h"
#include "pipeline/planner/plan_costs.h"

typedef struct fd_network_bound {
    const fd_costs *costs; /* borrowed */
    double time;           /* seconds: no plan takes less */
    bool exact;            /* dividing regions cannot raise it */
    fd_cut_regions regions;
    double *shares; /* owned; per number of machines of a stage: machine
                       seconds per byte of parameters, INFINITY: not a number
                       of machines of a stage */
    uint32_t machines;
    uint64_t looked; /* pairs of regions so far */
} fd_network_bound;

/* `time`: a known lower bound, above 0. Clear it in any case. */
fd_status fd_network_bound_make(fd_network_bound *bound, const fd_model *model,
                                const fd_layers *layers, const fd_costs *costs,
                                double time);
void fd_network_bound_clear(fd_network_bound *bound);

/* Raise the bound up to `most` seconds at most, with at most so many regions
 * and so many pairs of regions looked at. */
fd_status fd_network_bound_raise(fd_network_bound *bound, double most,
                                 uint32_t regions, uint64_t effort);

#endif
