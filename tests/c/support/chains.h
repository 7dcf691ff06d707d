/* A chain of layers, and the arguments of a search over it. */
#ifndef CHAINS_H
#define CHAINS_H

#include "check.h"

#include "pipeline/planner/local_search.h"

/* All states of a graph. */
fd_status states_of(fd_states *states, const char *text);

typedef struct chained {
    fd_model model;
    fd_layers layers;
    fd_states states;
    fd_costs costs;
} chained;

void chained_clear(chained *c);

/* Layers of 4, 1, 1 and 2 ms, half of it forward, on `machines` machines with
 * a bandwidth of 1 GB/s between them. */
fd_status chained_make(chained *c, uint32_t machines);

/* Its evaluator with 1F1B and 4 micro-batches. */
fd_status chained_evaluator(fd_evaluator *evaluator, const chained *c);

/* Whether a time is about `ms` milliseconds. */
bool near(double seconds, double ms);

#endif
