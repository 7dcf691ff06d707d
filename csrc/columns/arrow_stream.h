/* A table of a trace as an Arrow stream. Each batch is built when it is
 * requested, so that one is in memory at a time. */
#ifndef FD_ARROW_STREAM_H
#define FD_ARROW_STREAM_H

#include "columns/arrow_abi.h"
#include "columns/stream_tables.h"

/* Drop the reference that keeps the trace alive. Called once, by the release
 * of the stream, on any thread. */
typedef void fd_arrow_drop(void *owner);

/* Begin a stream. The trace must not change until the stream is released.
 * FD_ENOMEM is the only failure; `drop` is then not called. */
fd_status fd_arrow_stream(struct ArrowArrayStream *stream,
                          const fd_trace *trace, const fd_arrow_table *table,
                          fd_arrow_drop *drop, void *owner);

#endif
