/* The call graph as GraphML: docs/guides/export.md. */
#ifndef FD_CALLGRAPH_GRAPHML_H
#define FD_CALLGRAPH_GRAPHML_H

#include "trace/export_options.h"

/* http://graphml.graphdrawing.org/: functions and calls with their figures.
 * Nothing is contracted; operators by options->ops. */
fd_status fd_export_graphml(const fd_trace *trace,
                            const fd_export_options *options, fd_buffer *to,
                            fd_error *error);

#endif
