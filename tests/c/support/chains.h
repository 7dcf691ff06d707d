/* The states of a graph. */
#ifndef CHAINS_H
#define CHAINS_H

#include "check.h"

#include "pipeline/cuts/antichain_states.h"

/* All states of a graph. */
void states_of(fd_states *states, fd_arena *arena, const char *text);

/* Declare them, and the arena of the test. */
#define STATES(states, arena, text) \
    ARENA(arena); \
    ENTER(&arena); \
    fd_states states; \
    states_of(&states, &arena, text)

#endif
