/* The pipeline with the minimum time, by dynamic programming over the states
 * of a model, level by level of machines:
 *
 *     A[s][j][m]   the minimum time of the layers from state s to state j on m
 *                  machines: one stage, or
 *                  min over k between s and j, m' < m of
 *                  max(A[s][k][m - m'], last stage from k to j on m')
 *
 * The innermost level computes with layers; the next level uses its
 * A[s][j][all machines] as the time of a block. Only the states in a span
 * matter for a value: machines are fully used at best, so that with a cap c on
 * the result the time of k is within m' c of that of j and (m - m') c of that
 * of s. Times below a floor count as equal. None of these limits can exclude
 * the optimum (pipeline/planner/planner_level.h).
 *
 * Among plans of equal time, or below the floor, the first one counts: one
 * stage; else the last stage on the fewest machines, then the shortest, then
 * the later state. */
#ifndef FD_OPTIMUM_H
#define FD_OPTIMUM_H

#include "pipeline/planner/plan_costs.h"
#include "pipeline/planner/search_watch.h"

/* A stage of a level. All its `machines` have the same block, which the level
 * below divides into stages. */
typedef struct fd_stage {
    fd_block block;
    uint32_t level;
    uint32_t parent;   /* index in `stages`; for the outermost level, its own
                        * index */
    uint32_t machines; /* number of machines of its level */
    uint32_t after;    /* number of machines of its level in later stages */
    fd_stage_cost cost;
    double memory; /* bytes per machine; only for level 0 with a memory
                    * model */
} fd_stage;

typedef struct fd_optimum {
    double time;  /* a step of the pipeline in seconds */
    double bound; /* a lower bound; set by pipeline/planner/fastest_split.h */
    double one_machine; /* seconds on one machine */
    double data_parallel;
    uint32_t unused; /* number of unused machines of the outermost level */
    uint64_t looked; /* number of steps of the search */
    /* outermost level first, parents before their parts, in the order of
     * layers */
    FD_VECTOR(fd_stage) stages;
} fd_optimum;

typedef struct fd_optimum_request {
    const fd_states *states;
    fd_costs costs;
    double cap;      /* maximum time of a plan; or INFINITY */
    double floor;    /* a lower bound of all plans; or 0 */
    uint64_t effort; /* maximum number of steps; 0: unlimited */
    fd_watch *watch; /* NULL: no progress report */
} fd_optimum_request;

/* Find the optimum for costs that are in range. FD_EINVAL: there is no plan,
 * or not enough memory for any. FD_EFULL: the effort was reached. */
fd_status fd_optimum_find(fd_optimum *optimum, fd_arena *arena,
                          const fd_optimum_request *request);

#endif
