/* Chakra's .et files (docs/formats/execution-trace.md). */
#ifndef FD_CHAKRA_WRITER_H
#define FD_CHAKRA_WRITER_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

/* Append the head and all nodes; edges are sorted, ids grow along them
 * (et/et_order.h). The caller commits or discards the file. */
fd_status fd_et_write_chakra(const fd_et *et, fd_bytes_out *out,
                             fd_error *error);

#endif
