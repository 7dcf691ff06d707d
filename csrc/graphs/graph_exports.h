/* Export of the call graph to files: docs/formats/exports.md. */
#ifndef FD_GRAPH_EXPORTS_H
#define FD_GRAPH_EXPORTS_H

#include "trace/export_options.h"

/* Write the language of Graphviz. */
fd_export fd_export_dot;

/* Write call_graph_<rank>.json: two sorted lists of strings, functions and
 * "caller->callee". Only Python functions unless options->ops includes
 * operators. */
fd_export fd_export_callgraph;

#endif
