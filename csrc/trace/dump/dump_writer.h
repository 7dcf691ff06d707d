/* A trace as JSON: docs/formats/dump.md and
 * docs/reference/schemas/dump.schema.json. Loading a dump gives an equal
 * trace. */
#ifndef FD_DUMP_WRITER_H
#define FD_DUMP_WRITER_H

#include "trace/trace.h"

/* Append the whole document. Check buffer->status afterwards. The trace must
 * be sorted, so that equal traces give equal bytes. */
void fd_dump(const fd_trace *trace, fd_buffer *to);

#endif
