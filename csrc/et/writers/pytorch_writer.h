/* PyTorch's JSON, schema 1.1.1-chakra.0.0.4, with the additions of the linker:
 * times, kernels, synchronisation. One node per line. */
#ifndef FD_PYTORCH_WRITER_H
#define FD_PYTORCH_WRITER_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

/* Append the trace. The caller commits or discards the file. */
fd_status fd_et_write_pytorch(const fd_et *et, fd_bytes_out *out,
                              fd_error *error);

#endif
