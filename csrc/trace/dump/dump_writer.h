/* Writer of a trace as JSON: docs/formats/dump.md and
 * docs/reference/schemas/dump.schema.json. Reading a dump gives an equal
 * trace. */
#ifndef FD_DUMP_WRITER_H
#define FD_DUMP_WRITER_H

#include "trace/trace.h"

/* Append the complete document. Check buffer->status afterwards. The trace
 * must be sorted, so that equal traces give equal bytes. */
void fd_dump(const fd_trace *trace, fd_buffer *to);

/* Write the document to a file, with one rank in memory at a time. */
fd_status fd_dump_save(const fd_trace *trace, const char *path,
                       fd_error *error);

#endif
