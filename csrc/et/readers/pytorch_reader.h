/* PyTorch's execution traces: JSON of the schemas 1.0.1 to 1.1.1, linked or
 * not, in any order of nodes, complete or truncated; and the JSON form that
 * Chakra's feeder reads. Fields: docs/formats/execution-trace.md.
 *
 * After damage, reading continues at the next object that begins with an "id";
 * the text between is lost and counted. Names that PyTorch did not escape are
 * read unchanged. */
#ifndef FD_PYTORCH_READER_H
#define FD_PYTORCH_READER_H

#include "et/et_graph.h"
#include "streams/input_stream.h"

/* Read `in` from its start to its end. The trace is not finished
 * (fd_et_finish). FD_EFORMAT: it has no nodes. */
fd_status fd_et_read_pytorch(fd_et *et, fd_bytes_in *in, const char *path,
                             fd_error *error);

#endif
