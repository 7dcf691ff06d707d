/* Random models for tests. */
#ifndef RANDOM_MODELS_H
#define RANDOM_MODELS_H

#include "check.h"

#include "pipeline/planner/layer_graph.h"

/* A model of `layers` layers, at most 64. All depend on the first one. */
fd_status random_model(fd_model *model, uint32_t seed, uint32_t layers);

#endif
