/* Chakra's .et files: docs/execution-trace.md has them byte by byte. */
#ifndef FD_ET_CHAKRA_WRITER_H
#define FD_ET_CHAKRA_WRITER_H

#include "et/graph.h"
#include "io/bytes_out.h"

/* Append the head, and node after node; edges are sorted, ids grow along them
 * (et/order.h). The caller keeps or drops the file. */
fd_status fd_et_write_chakra(const fd_et *et, fd_bytes_out *out,
                             fd_error *error);

#endif
