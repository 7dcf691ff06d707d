/* PyTorch's execution traces: JSON of the schemas 1.0.1 to 1.1.1, linked or
 * not, in any order of nodes, whole or cut short. Fields:
 * docs/formats/execution-trace.md.
 *
 * Where the text is damaged, reading goes on at the next object that begins
 * with an "id"; what is between is lost and counted. Names that PyTorch did not
 * escape are taken as they are. */
#ifndef FD_PYTORCH_READER_H
#define FD_PYTORCH_READER_H

#include "et/et_graph.h"
#include "streams/input_stream.h"

/* `in` stands at the begin and is read to its end. The trace is not finished
 * (fd_et_finish). FD_EFORMAT: there are no nodes in it. */
fd_status fd_et_read_pytorch(fd_et *et, fd_bytes_in *in, const char *path,
                             fd_error *error);

#endif
