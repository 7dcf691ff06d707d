/* The calls of a recording as JSON, one per line, including forwards of
 * modules: the input of `pipeline profile`, which builds a graph of layers. */
#ifndef FD_ET_LAYERS_H
#define FD_ET_LAYERS_H

#include "et/et_graph.h"

/* Append a list of [id, id of the parent, name, schema, scope, number of the
 * record, autograd's number, thread, forward thread, duration in ns (-1: it did
 * not end), inputs, outputs] by id, without roots of threads. */
fd_status fd_et_layer_calls(fd_buffer *to, const char *path, fd_error *error);

#endif
