/* The text of a model that pipeline planners exchange
 * (docs/formats/pipeline-graph.md):
 *
 *     node4 -- Embedding(32320, 1024) -- forward_compute_time=0.073, backward_compute_time=6.949, activation_size=6291456.0, parameter_size=132382720.000 -- stage_id=0
 *     <TAB>node1 -- node4
 */
#ifndef FD_LAYER_GRAPH_TEXT_H
#define FD_LAYER_GRAPH_TEXT_H

#include "pipeline/planner/layer_graph.h"

/* Read into an empty model and close it. Messages begin with `where` and the
 * line. Clear the model also after a failure. */
fd_status fd_model_read_text(fd_model *model, const char *text, size_t size,
                             const char *where, fd_error *error);

/* Write the text form. Newlines in texts are removed. */
void fd_model_write_text(const fd_model *model, fd_buffer *to);

#endif
