/* Readers of execution traces in files, complete or truncated. */
#ifndef FD_ET_READERS_H
#define FD_ET_READERS_H

#include "et/et_graph.h"
#include "streams/input_stream.h"

/* Return whether the first bytes of a file are those of a .et file of Chakra:
 * a length and that many bytes of a GlobalMetadata. */
bool fd_et_is_chakra(const char *head, size_t size);

/* Read a .et file of any program. The caller must call fd_et_finish
 * afterwards. */
void fd_et_read_chakra(fd_et *et, fd_bytes_in *in);

/* Read PyTorch's JSON of the schemas 1.0.1 to 1.1.1, linked or not, in any
 * order of nodes. Fields: docs/formats/execution-trace.md. After damage, reading continues at the next
 * object that begins with an "id"; the text between is lost and counted. Names
 * that PyTorch did not escape are read unchanged. A file without nodes ends the request with FD_EFORMAT. The
 * caller must call fd_et_finish afterwards. */
void fd_et_read_pytorch(fd_et *et, fd_bytes_in *in, const char *path);

#endif
