/* Models for tests. */
#ifndef MODELS_H
#define MODELS_H

#include "check.h"

#include "pipeline/cuts/layer_chain.h"

enum { MADE_LAYERS = 16, MADE_EDGES = 32 };

/* A model and its memory. */
typedef struct made_model {
    char names[MADE_LAYERS][8];
    const char *ids[MADE_LAYERS];
    fd_layer layers[MADE_LAYERS];
    fd_layer_edge edges[MADE_EDGES];
} made_model;

/* Make a model from text: lines of layers, then of edges. */
fd_model model_of(made_model *made, const char *text);

/* Declare a model. */
#define MODEL(model, text) \
    made_model model##_made = {.ids = {NULL}}; \
    const fd_model model = model_of(&model##_made, text)

/* The figures of a layer: forward and backward time in ms, bytes of output and
 * parameters. */
#define FIGURES(forward, backward, activation, parameters) \
#forward " " #backward " " #activation " " #parameters
#define NODE(id, figures) id " " figures "\n"

#endif
