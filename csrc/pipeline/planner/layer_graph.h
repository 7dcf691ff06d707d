/* A model as a graph: layers with their costs, and edges from outputs to
 * inputs.
 *
 *     nodes      [ node1 | node4 | node5 | ... ]         in the order of the file
 *     edges      [ 1>4 | 4>5 | 2>5 | ... ]               likewise; order = argument
 *     in_list    [ of node1 | of node4: node1 | of node5: node4 node2 | ... ]
 *     in_first     ^          ^                 ^                     nodes + 1
 *     out_list, out_first: likewise for outgoing edges
 *
 * Add nodes, then edges, then close the model. A closed model has no cycle,
 * and only the stages of its nodes change. Two equal edges are two
 * arguments. */
#ifndef FD_LAYER_GRAPH_H
#define FD_LAYER_GRAPH_H

#include "base/buffer.h"
#include "base/index.h"
#include "base/vector.h"

#include <stdbool.h>

enum { FD_MODEL_NODES_MAX = 1 << 20, FD_NO_STAGE = -1 };

/* The value of an unknown number. */
#define FD_UNKNOWN (-1.0)

typedef struct fd_model_node {
    uint32_t id;           /* texts */
    uint32_t name;         /* texts; description: the repr of a module */
    uint32_t about;        /* texts; a JSON object, or empty */
    uint32_t first_output; /* index in `sizes` */
    uint32_t outputs;
    int32_t stage;  /* FD_NO_STAGE: no stage */
    double forward; /* milliseconds */
    double backward;
    double forward_spread; /* milliseconds; FD_UNKNOWN */
    double backward_spread;
    double activation; /* bytes of all outputs */
    double parameters; /* bytes */
    double saved;      /* bytes saved for backward; or FD_UNKNOWN */
} fd_model_node;

typedef struct fd_model_edge {
    uint32_t from; /* nodes */
    uint32_t to;
} fd_model_edge;

typedef struct fd_model {
    fd_buffer texts; /* each ends in NUL; the first is empty */
    uint32_t about;  /* text; a JSON object about the whole model, or empty */
    fd_index ids;    /* text of an id -> index in `nodes` + 1 */
    FD_VECTOR(fd_model_node) nodes;
    FD_VECTOR(fd_model_edge) edges;
    FD_VECTOR(double) sizes; /* bytes of each output of each node */
    uint32_t *in_first;      /* owned, like the next four; set when the model
                              * is closed */
    uint32_t *in_list;
    uint32_t *out_first;
    uint32_t *out_list;
    uint32_t *order; /* topological order; nodes without order as in the
                      * file */
} fd_model;

/* Free a model. Zero-initialised memory is an empty model. */
void fd_model_clear(fd_model *model);

/* Store a text and return its position; 0 is the empty text. A failed
 * allocation is stored in the status of model->texts. */
uint32_t fd_model_keep(fd_model *model, const char *text, size_t size);

static inline const char *
fd_model_text(const fd_model *model, uint32_t text)
{
    return model->texts.bytes == NULL ? "" : &model->texts.bytes[text];
}

/* Return the index of a node by its id, or nodes.count. */
uint32_t fd_model_find(const fd_model *model, const char *id, size_t size);

/* Add a node and store its texts. FD_EINVAL: the id is empty, contains a tab,
 * newline or " -- ", or is not unique; a number is negative or NaN; too many
 * nodes. The message does not contain a position. */
fd_status fd_model_add(fd_model *model, const fd_model_node *node,
                       fd_error *error);

/* Close the model. FD_EINVAL: a cycle. */
fd_status fd_model_close(fd_model *model, fd_error *error);

#endif
