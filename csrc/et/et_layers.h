/* The calls of a recording for execution traces as JSON, one a line, forwards of
 * modules among them: what `pipeline profile` makes a graph of layers from. */
#ifndef FD_ET_LAYERS_H
#define FD_ET_LAYERS_H

#include "et/et_graph.h"

/* Append a list of [id, id of the parent, name, schema, scope, number of the
 * record, autograd's number, thread, forward thread, duration in ns (-1: it did
 * not end), inputs, outputs] by id, without roots of threads. */
fd_status fd_et_layer_calls(fd_buffer *to, const char *path, fd_error *error);

#endif
