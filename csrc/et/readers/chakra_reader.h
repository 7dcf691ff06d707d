/* Reader of Chakra's .et files of any program, complete or truncated. */
#ifndef FD_CHAKRA_READER_H
#define FD_CHAKRA_READER_H

#include "et/et_graph.h"
#include "streams/input_stream.h"

/* Whether these are the first bytes of one: a length and that many bytes of a
 * GlobalMetadata. */
bool fd_et_is_chakra(const char *head, size_t size);

/* Read `in` from its start to its end. The trace is not finished
 * (fd_et_finish). */
fd_status fd_et_read_chakra(fd_et *et, fd_bytes_in *in);

#endif
