/* A chain of layers with all that a search over it takes. */
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

/* Layers of 4, 1, 1 and 2 ms, a half of them forward, on `machines` machines
 * with a gigabyte a second between them. */
fd_status chained_make(chained *c, uint32_t machines);

/* Its evaluator under 1F1B with 4 micro-batches. */
fd_status chained_evaluator(fd_evaluator *evaluator, const chained *c);

/* Whether a time is so many milliseconds. */
bool near(double seconds, double ms);

#endif
