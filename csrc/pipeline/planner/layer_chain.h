/* What a planner sees of a model: its layers in an order that does not depend
 * on the order of the file, each with what comes before it as a set.
 *
 * Left out are sources whose name begins with "Input" and sinks whose name
 * begins with "__getitem__": outputs that nobody takes. */
#ifndef FD_LAYER_CHAIN_H
#define FD_LAYER_CHAIN_H

#include "pipeline/planner/layer_graph.h"

typedef struct fd_layers {
    uint32_t count;
    uint32_t words;     /* of a set */
    uint32_t *nodes;    /* owned, as all below; a layer's place in the model */
    uint32_t *layer_of; /* of a node of the model; count: left out */
    uint64_t *within;   /* a row a layer: itself and all it needs */
    uint64_t *parents;  /* a row a layer */
    uint64_t *children; /* a row a layer */
    uint64_t *leaving;  /* a row a layer: of those it needs, the ones that
                           something outside `within` needs too */
} fd_layers;

/* FD_EINVAL: nothing is left. To be cleared in any case. */
fd_status fd_layers_make(fd_layers *layers, const fd_model *model,
                         fd_error *error);
void fd_layers_clear(fd_layers *layers);

static inline uint64_t *
fd_layers_row(const fd_layers *layers, uint64_t *rows, uint32_t layer)
{
    return &rows[(size_t)layer * layers->words];
}

/* Order of ids: runs of digits by their number, node9 before node10. */
int fd_id_order(const char *a, const char *b);

#endif
