/* The shape of a model's graph: its chains and branches. */
#ifndef FD_GRAPH_SHAPE_H
#define FD_GRAPH_SHAPE_H

#include "pipeline/planner/layer_graph.h"

/* Make a closed model in which each branch is one node. A branch is a run of
 * layers with one input and one output, after a layer with several users.
 * Times and parameters are added up, and the last output is kept. A node is
 * called "Branch N" and has the id compressed_nodeN; a single layer keeps its
 * name. Clear `to` also after a failure. */
fd_status fd_shape_compress(fd_model *to, const fd_model *from);

/* Return whether the graph is series-parallel: it can be reduced to one edge
 * by removing layers with one predecessor and one successor, and duplicate
 * edges. */
fd_status fd_shape_is_series_parallel(const fd_model *model, bool *result);

/* Return whether two graphs have the same names and edges, apart from ids and
 * the order of lines. Compares hashes of the layers before and after each
 * layer, in nearly linear time; false is certain. */
fd_status fd_shape_is_same(const fd_model *a, const fd_model *b, bool *result);

#endif
