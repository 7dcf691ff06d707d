/* From a dump (JSON, from anywhere) to a trace. */
#ifndef FD_DUMP_READER_H
#define FD_DUMP_READER_H

#include "trace/trace.h"

/* Read a document that fd_dump wrote. Nothing in it is trusted: a wrong type,
 * length, index or number is FD_EFORMAT with the place named. */
fd_status fd_load(fd_trace **trace, const char *path, fd_error *error);

#endif
