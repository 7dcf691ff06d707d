/* The layers of a model for the planner, each with the set of its
 * dependencies. */
#ifndef FD_LAYER_CHAIN_H
#define FD_LAYER_CHAIN_H

#include "base/arena.h"
#include "pipeline/cuts/bit_sets.h"

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

/* A model: layers with their costs, and edges from outputs to inputs. The edges into a layer precede the edges out of it, so there is no
 * cycle. Two equal edges are two arguments. */
typedef struct fd_model {
    const fd_layer *layers;     /* borrowed, like all arrays */
    const char *const *ids;     /* of each layer, for messages */
    const fd_layer_edge *edges; /* sorted topologically by `to` */
    uint32_t count;             /* of layers */
    uint32_t edge_count;
} fd_model;

typedef struct fd_layers {
    uint32_t count;
    uint32_t words;     /* words per set */
    uint64_t *within;   /* a row per layer: itself and its dependencies */
    uint64_t *parents;  /* a row per layer: its inputs */
    uint64_t *children; /* a row per layer: its users */
    uint64_t *leaving;  /* a row per layer: dependencies that layers outside of
                         * `within` use too */
    fd_word_range *parent_words; /* per layer: range of words with bits in its
                                  * row of `parents` */
    fd_word_range *child_words;  /* per layer: range of words with bits in its
                                  * row of `children` */
} fd_layers;

/* Make the layers. The request of the arena fails with FD_EINVAL for a model
 * without layers, and for edges that are not sorted. */
void fd_layers_make(fd_layers *layers, fd_arena *arena, const fd_model *model);

static inline uint64_t *
fd_layers_row(const fd_layers *layers, uint64_t *rows, uint32_t layer)
{
    return &rows[(size_t)layer * layers->words];
}

/* Return whether a layer has a parent (or a child) in a set; or whether all
 * its parents (or children) are in it. */
static inline bool
fd_layers_parent_in(const fd_layers *l, uint32_t layer, const uint64_t *set)
{
    return fd_bits_meet_in(fd_layers_row(l, l->parents, layer), set,
                           l->parent_words[layer]);
}

static inline bool
fd_layers_parents_in(const fd_layers *l, uint32_t layer, const uint64_t *set)
{
    return fd_bits_within_in(fd_layers_row(l, l->parents, layer), set,
                             l->parent_words[layer]);
}

static inline bool
fd_layers_child_in(const fd_layers *l, uint32_t layer, const uint64_t *set)
{
    return fd_bits_meet_in(fd_layers_row(l, l->children, layer), set,
                           l->child_words[layer]);
}

static inline bool
fd_layers_children_in(const fd_layers *l, uint32_t layer, const uint64_t *set)
{
    return fd_bits_within_in(fd_layers_row(l, l->children, layer), set,
                             l->child_words[layer]);
}

#endif
