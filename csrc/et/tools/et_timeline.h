/* An execution trace as a timeline: Chrome's trace events, one row per thread
 * and stream, arrows for dependencies between rows. */
#ifndef FD_ET_TIMELINE_H
#define FD_ET_TIMELINE_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

/* Append all of it. A trace without times is laid out by its durations, each
 * node as soon as what it waits for has ended. FD_EINVAL: it has none. */
fd_status fd_et_write_timeline(const fd_et *et, fd_bytes_out *out,
                               fd_error *error);

#endif
