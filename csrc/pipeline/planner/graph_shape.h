/* The shape of a model's graph: what chains and branches it is made of. */
#ifndef FD_GRAPH_SHAPE_H
#define FD_GRAPH_SHAPE_H

#include "pipeline/planner/layer_graph.h"

/* A closed model whose branches are one node each: runs of layers with one
 * input and one output, behind a layer that several need. Their times and
 * parameters add up, the last output stays. They are called "Branch N" with the
 * id compressed_nodeN, one layer keeps its name. `to` is to be cleared in any
 * case. */
fd_status fd_shape_compress(fd_model *to, const fd_model *from);

/* Whether the graph comes down to one edge when every layer with one
 * predecessor and one successor is taken out, and equal edges are one. */
fd_status fd_shape_is_series_parallel(const fd_model *model, bool *answer);

/* Whether two graphs are the same but for ids and the order of lines: names,
 * and which needs what. By what is before and behind each layer: near-linear,
 * never wrong when it says no. */
fd_status fd_shape_is_same(const fd_model *a, const fd_model *b, bool *answer);

#endif
