/* An execution trace as a picture, in Graphviz's language. */
#ifndef FD_ET_DOT_H
#define FD_ET_DOT_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

/* Append the trace, collapsed (et/tools/et_collapse.h) to a readable graph
 * that Graphviz lays out in seconds. */
fd_status fd_et_write_dot(const fd_et *et, fd_bytes_out *out);

#endif
