/* The pipeline of least time, by dynamic programming over the states of a
 * model, a level of machines after the other:
 *
 *     A[s][j][m]   the least time of layers behind state s up to state j on m
 *                  machines: one stage, or
 *                  min over k between s and j, m' < m of
 *                  max(A[s][k][m - m'], last stage from k to j on m')
 *
 * The innermost level knows the layers; the next sees A[s][j][all machines] of
 * it as the time of a block. What a value depends on lies in a span: no
 * machine can be better than fully used, so that with a cap c on the answer the
 * time of k is within m' c of j's and (m - m') c of s's. From below there is a
 * floor: what is quicker than that need not be better. Nothing that could make
 * the answer smaller is left out (pipeline/planner/planner_level.h).
 *
 * Of plans that take the same time, or are as good by that floor, the first
 * counts: one stage; else the last stage on the fewest machines, then the
 * shortest, then the later state. */
#ifndef FD_LOWER_BOUND_H
#define FD_LOWER_BOUND_H

#include "pipeline/planner/plan_costs.h"
#include "pipeline/planner/time_limit.h"

/* A stage of a level. The blocks of its `machines` are alike; within each,
 * the level below has stages of its own. */
typedef struct fd_stage {
    fd_block block;
    uint32_t level;
    uint32_t parent;   /* in stages; of the outermost level itself */
    uint32_t machines; /* of its level */
    uint32_t after;    /* machines of its level in later stages */
    fd_stage_cost cost;
    double memory; /* bytes a machine; only of level 0 with a memory model */
} fd_stage;

typedef struct fd_optimum {
    double time; /* a step of the pipeline in seconds */
    double
        bound; /* none is quicker; set by pipeline/planner/fastest_split.h */
    double one_machine; /* seconds */
    double data_parallel;
    uint32_t unused; /* machines of the outermost level */
    uint64_t looked; /* steps of the search */
    FD_VECTOR(fd_stage)
    stages; /* outermost level first, parents before their
                                   parts, in the order of layers */
} fd_optimum;

/* `forbidden`: a state at which the outermost level may not be cut;
 * FD_NO_STATE: none. `cut_once`: it must be cut at all. */
typedef struct fd_optimum_request {
    const fd_states *states;
    fd_costs costs;
    uint32_t forbidden;
    bool cut_once;
    double cap;      /* no plan above this is wanted; INFINITY */
    double floor;    /* no plan is below this; 0 */
    uint64_t effort; /* steps at most; 0: as many as it takes */
    fd_watch *watch; /* NULL: nobody looks on */
} fd_optimum_request;

/* FD_EINVAL: figures out of range, or without a message: there is no such plan,
 * or none that has room. FD_EFULL: it takes more effort. To be cleared in any
 * case. */
fd_status fd_optimum_find(fd_optimum *optimum,
                          const fd_optimum_request *request, fd_error *error);
void fd_optimum_clear(fd_optimum *optimum);

/* One stage on all machines: a plan without a search. FD_EINVAL: the request
 * excludes it, or it has no room. To be cleared in any case. */
fd_status fd_optimum_data_parallel(fd_optimum *optimum,
                                   const fd_optimum_request *request);

#endif
