/* A trace as JSON: docs/dump.md, docs/dump.schema.json. Loading what was
 * dumped gives an equal trace. */
#ifndef FD_DUMP_WRITER_H
#define FD_DUMP_WRITER_H

#include "trace/trace.h"

/* Append the whole document. Check buffer->status afterwards. The trace must
 * be sorted, so that equal traces give equal bytes. */
void fd_dump(const fd_trace *trace, fd_buffer *to);

#endif
