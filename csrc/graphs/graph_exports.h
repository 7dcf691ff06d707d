/* The call graph in files: docs/guides/export.md. */
#ifndef FD_GRAPH_EXPORTS_H
#define FD_GRAPH_EXPORTS_H

#include "trace/export_options.h"

/* The language of Graphviz. */
fd_export fd_export_dot;

/* http://graphml.graphdrawing.org/: functions and calls with their figures.
 * Nothing is contracted; operators by options->ops. */
fd_export fd_export_graphml;

/* call_graph_<rank>.json: two sorted lists of strings, functions and
 * "caller->callee". Only Python functions unless options->ops includes
 * operators. */
fd_export fd_export_callgraph;

#endif
