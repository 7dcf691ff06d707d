/* A model for the planner: layers with their costs, and edges from outputs to
 * inputs. The edges into a layer precede the edges out of it, so there is no
 * cycle. Two equal edges are two arguments. */
#ifndef FD_LAYER_COSTS_H
#define FD_LAYER_COSTS_H

#include <stdint.h>

typedef struct fd_layer {
    double forward; /* milliseconds */
    double backward;
    double activation; /* bytes of all outputs */
    double parameters; /* bytes */
    double saved;      /* bytes saved for backward; negative: unknown */
} fd_layer;

typedef struct fd_layer_edge {
    uint32_t from; /* layers */
    uint32_t to;
} fd_layer_edge;

typedef struct fd_model {
    const fd_layer *layers;     /* borrowed, like all arrays */
    const char *const *ids;     /* of each layer, for messages */
    const fd_layer_edge *edges; /* sorted topologically by `to` */
    uint32_t count;             /* of layers */
    uint32_t edge_count;
} fd_model;

#endif
