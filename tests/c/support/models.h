/* Models for tests. */
#ifndef MODELS_H
#define MODELS_H

#include "check.h"

#include "pipeline/planner/layer_graph.h"

/* Read a model without a name from text. */
fd_status model_of(fd_model *model, const char *text, fd_error *error);

/* Declare such a model, which the end of the test clears. */
#define MODEL(model, text) \
    CLEAN(fd_model_clear) fd_model model = {.about = 0}; \
    OK(model_of(&model, text, NULL))

/* The figures of a node: forward and backward time in ms, bytes of output and
 * parameters. */
#define FIGURES(forward, backward, activation, parameters) \
    "forward_compute_time=" #forward ", backward_compute_time=" #backward \
    ", activation_size=" #activation ", parameter_size=" #parameters
#define NODE(id, figures) id " -- Layer() -- " figures "\n"

#endif
