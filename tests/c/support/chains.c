#include "chains.h"

#include "models.h"

#include <math.h>

fd_status
states_of(fd_states *states, const char *text)
{
    MODEL(model, text);
    fd_layers layers = {.count = 0};
    fd_states_limits all = {.found = 100, .kept = 100, .cap = INFINITY};
    fd_status status = fd_layers_make(&layers, &model, NULL);
    fd_then(status, fd_states_make(states, &model, &layers, &all));
    fd_layers_clear(&layers);
    return status;
}
