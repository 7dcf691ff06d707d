/* The cost of a stage of a pipeline: a block of layers on some machines.
 *
 *     machines     5 of 8 before | 2 run the block | 1 after
 *     compute      (forward + backward) / 2
 *     reduce       4 (2 - 1) parameters / (bandwidth 2) / 2
 *     in, out      2 cut / (bandwidth 2 ratio), only with a ratio
 *
 * in seconds. The time of the stage is the maximum of compute + reduce, in and
 * out. With several levels, a machine of a level consists of all machines of
 * the level below, and `compute` is the time of the pipeline that these form
 * for the block. */
#ifndef FD_PLAN_COSTS_H
#define FD_PLAN_COSTS_H

#include "pipeline/cuts/antichain_states.h"

enum { FD_PLAN_LEVELS = 8, FD_PLAN_MACHINES = 4096 };

#define FD_NO_STATE UINT32_MAX

typedef enum fd_memory_model {
    FD_MEMORY_FREE,      /* no limit */
    FD_MEMORY_PUBLISHED, /* PipeDream's: activations and parameters once per
                            later machine; 0 for the last stage */
    /* asynchronous: weights, gradients, optimizer; a version of the weights
     * and the saved activations per micro-batch in flight */
    FD_MEMORY_STASHED,
    FD_MEMORY_FLUSHED /* synchronous: one version of the weights */
} fd_memory_model;

typedef struct fd_costs {
    uint32_t levels; /* number of levels; the first is the innermost */
    uint32_t machines[FD_PLAN_LEVELS];
    double bandwidths[FD_PLAN_LEVELS]; /* bytes per second */
    double ratio;  /* compression of sent activations; 0: sending takes no
                    * time */
    bool straight; /* one machine per stage */
    bool fewer;    /* machines may stay unused */
    bool true_cut; /* each tensor that crosses counts once; all machines of the
                    * level below reduce the gradients of a stage */
    fd_memory_model memory;
    double capacity;  /* bytes of memory of a machine */
    double optimizer; /* bytes of optimizer state per byte of parameters */
} fd_costs;

/* A block: the layers of `last` without those of `first`, which is FD_NO_STATE
 * before the first layer. */
typedef struct fd_block {
    uint32_t first;
    uint32_t last;
} fd_block;

typedef struct fd_stage_cost {
    double compute; /* seconds, like the next three, on one machine of the
                     * level */
    double reduce;
    double in;
    double out;
} fd_stage_cost;

/* Return the costs of a stage. `compute` is the time of the block on one
 * machine of the level. */
fd_stage_cost fd_stage_costs(const fd_costs *costs, const fd_states *states,
                             uint32_t level, double compute, fd_block block,
                             uint32_t machines, bool single);

static inline double
fd_state_sum(const double *sums, fd_block block)
{
    return sums[block.last]
         - (block.first == FD_NO_STATE ? 0 : sums[block.first]);
}

/* Return the bytes on each machine of a stage that `after` machines follow. */
double fd_stage_memory(const fd_costs *costs, const fd_states *states,
                       fd_block block, uint32_t machines, uint32_t after);

static inline const double *
fd_cuts_of(const fd_costs *costs, const fd_states *states)
{
    return costs->true_cut ? states->cuts : states->wide_cuts;
}

/* Return a lower bound of all pipelines of these states, except for rounding.
 * It assumes fully used machines, and each layer, with the layers that are
 * added together with it, on its best number of machines. */
double fd_least_time(const fd_costs *costs, const fd_states *states,
                     uint32_t layers);

/* Return FD_EINVAL if numbers are out of range. */
fd_status fd_costs_check(const fd_costs *costs, fd_error *error);

#endif
