/* A model as JSON (docs/reference/schemas/pipeline-graph.schema.json): the
 * contents of the text form, spreads, bytes kept for backward, and facts. */
#ifndef FD_LAYER_GRAPH_JSON_H
#define FD_LAYER_GRAPH_JSON_H

#include "pipeline/planner/layer_graph.h"

/* Read into an empty model and close it. Messages begin with `where` and the
 * position. FD_EVERSION: written by a newer version. Clear the model also
 * after a failure. */
fd_status fd_model_read_json(fd_model *model, const char *text, size_t size,
                             const char *where, fd_error *error);

void fd_model_write_json(const fd_model *model, fd_buffer *to);

#endif
