#include "random_models.h"

#include "models.h"

#include <stdio.h>

static uint32_t
draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % below;
}

fd_status
random_model(fd_model *model, uint32_t seed, uint32_t layers)
{
    char text[16384];
    uint32_t state = seed * 7919 + 1;
    size_t used = 0;
    for (uint32_t i = 0; i < layers; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used,
                             "n%u -- Layer() -- forward_compute_time=%u, "
                             "backward_compute_time=%u, activation_size=%u, "
                             "parameter_size=%u\n",
                             i, 1 + draw(&state, 9), draw(&state, 20),
                             1 + draw(&state, 4000000),
                             draw(&state, 2) * draw(&state, 4000000));
    }
    for (uint32_t i = 1; i < layers; i++) {
        uint32_t first = draw(&state, i);
        uint32_t second = draw(&state, i);
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "\tn%u -- n%u\n", first, i);
        if (second != first) {
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "\tn%u -- n%u\n", second, i);
        }
    }
    return model_of(model, text, NULL);
}
