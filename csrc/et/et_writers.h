/* Writers of execution traces to files. Each function appends to `out`, which
 * the caller commits or discards. Edges must be sorted and ids must grow along
 * them (et/et_order.h). */
#ifndef FD_ET_WRITERS_H
#define FD_ET_WRITERS_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

typedef fd_status fd_et_write(const fd_et *et, fd_bytes_out *out,
                              fd_error *error);

/* Write a .et file of Chakra (docs/formats/execution-trace.md). */
fd_et_write fd_et_write_chakra;

/* Write PyTorch's JSON, schema 1.1.1-chakra.0.0.4, with the additions of the
 * linker: times, kernels, synchronisation. One node per line. */
fd_et_write fd_et_write_pytorch;

#endif
