#include "chains.h"

#include "models.h"

#include <math.h>

void
states_of(fd_states *states, fd_arena *arena, const char *text)
{
    MODEL(model, text);
    fd_layers layers;
    fd_states_limits all = {.found = 100, .kept = 100, .cap = INFINITY};
    fd_layers_make(&layers, arena, &model);
    fd_arena_check(arena,
                   fd_states_make(states, arena, &model, &layers, &all));
}
