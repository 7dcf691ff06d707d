/* call_graph_<rank>.json: docs/guides/export.md. */
#ifndef FD_CALLGRAPH_H
#define FD_CALLGRAPH_H

#include "trace/export_options.h"

/* Two sorted lists of strings: functions, and "caller->callee". Only Python
 * functions unless options->ops includes operators. */
fd_status fd_export_callgraph(const fd_trace *trace,
                              const fd_export_options *options, fd_buffer *to,
                              fd_error *error);

#endif
