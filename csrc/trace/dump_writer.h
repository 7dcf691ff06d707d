/* Writer of a trace as JSON: docs/formats/dump.md and
 * docs/reference/schemas/dump.schema.json. Reading a dump gives an equal
 * trace. */
#ifndef FD_DUMP_WRITER_H
#define FD_DUMP_WRITER_H

#include "trace/trace.h"

/* Write the document to a file, with one rank in memory at a time. The trace
 * must be sorted, so that equal traces give equal bytes. */
fd_status fd_dump_save(const fd_trace *trace, const char *path,
                       fd_error *error);

#endif
