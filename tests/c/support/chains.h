/* The states of a graph. */
#ifndef CHAINS_H
#define CHAINS_H

#include "check.h"

#include "pipeline/cuts/antichain_states.h"

/* All states of a graph. */
fd_status states_of(fd_states *states, const char *text);

/* Declare them; the end of the test clears them. */
#define STATES(states, text) \
    CLEAN(fd_states_clear) fd_states states = {.count = 0}; \
    OK(states_of(&states, text))

#endif
