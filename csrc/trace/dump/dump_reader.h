/* Reader of dumps (JSON) from any source. */
#ifndef FD_DUMP_READER_H
#define FD_DUMP_READER_H

#include "trace/trace.h"

/* Read a document that fd_dump_save wrote. The content is not trusted: a wrong
 * type, length, index or number is FD_EFORMAT, and the message names its
 * position. */
fd_status fd_load(fd_trace **trace, const char *path, fd_error *error);

#endif
