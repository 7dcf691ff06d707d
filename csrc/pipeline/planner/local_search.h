/* Evaluation of pipelines under a synchronous schedule, and local search. A
 * chain of states gives the cuts; the schedule gives the rank of each part;
 * its simulation gives the time of a step of the optimizer.
 *
 *     ends       [ part 0 | part 1 | ... all layers ]  state at the end of each
 *     machines   [      2 |      1 | ...          1 ]  of the rank of each part
 *
 * With several chunks, a rank has several parts on the same machines. */
#ifndef FD_LOCAL_SEARCH_H
#define FD_LOCAL_SEARCH_H

#include "pipeline/planner/compiled_schedule.h"

typedef struct fd_chain {
    uint32_t ranks;
    uint32_t count;     /* number of parts: ranks times chunks */
    uint32_t *ends;     /* owned */
    uint32_t *machines; /* owned */
    double time;        /* seconds; INFINITY: no plan, or not evaluated */
} fd_chain;

fd_status fd_chain_make(fd_chain *chain, uint32_t most);
void fd_chain_clear(fd_chain *chain);
void fd_chain_copy(fd_chain *to, const fd_chain *from);

static inline fd_block
fd_chain_block(const fd_chain *chain, uint32_t part)
{
    return (fd_block){part == 0 ? FD_NO_STATE : chain->ends[part - 1],
                      chain->ends[part]};
}

typedef struct fd_evaluator {
    const fd_states *states; /* borrowed, like the next */
    const fd_costs *costs;
    fd_schedule schedule;
    uint32_t micro_batches;
    uint32_t chunks;
    uint32_t forbidden;  /* a forbidden cut, or FD_NO_STATE */
    bool cut_once;       /* at least one cut is required */
    uint32_t most_ranks; /* limited by machines and layers */
    uint32_t most_parts;
    fd_compiled *ready; /* owned, like the next two; by number of ranks - 1 */
    bool *known;
    fd_part *parts;     /* temporary */
    uint64_t simulated; /* number of simulated computations so far */
} fd_evaluator;

/* Prepare evaluations. FD_EINVAL: the schedule is not for training, or has
 * another number of chunks. Clear the evaluator also after a failure. */
fd_status fd_evaluator_make(fd_evaluator *evaluator, fd_error *error);
void fd_evaluator_clear(fd_evaluator *evaluator);

/* Return the schedule for a number of ranks, compiled at its first use.
 * `*compiled` is NULL if no engine supports this number. */
fd_status fd_evaluator_schedule(fd_evaluator *evaluator, uint32_t ranks,
                                fd_compiled **compiled);

/* Return the rank that has a part. */
uint32_t fd_evaluator_rank(const fd_evaluator *evaluator, uint32_t ranks,
                           uint32_t part);

/* Return the time of a chain; INFINITY: not enough memory, or a forbidden
 * cut. */
double fd_evaluator_time(fd_evaluator *evaluator, fd_compiled *compiled,
                         const fd_chain *chain);

/* Return whether the first parts of a chain fit into the memory of a rank. */
bool fd_evaluator_fits(const fd_evaluator *evaluator, fd_compiled *compiled,
                       uint32_t rank, const fd_part *parts);

/* Set chain->time, and improve the chain by moves of one cut or one machine
 * until no move helps. `effort`: maximum number of simulated computations. */
fd_status fd_local_search(fd_evaluator *evaluator, fd_chain *chain,
                          uint64_t effort);

#endif
