/* An execution trace for networkx, yEd, Gephi. */
#ifndef FD_ET_GRAPHML_H
#define FD_ET_GRAPHML_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

/* Append all nodes, and all dependencies with their kinds. */
fd_status fd_et_write_graphml(const fd_et *et, fd_bytes_out *out,
                              fd_error *error);

#endif
