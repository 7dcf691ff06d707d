/* An execution trace as a timeline: Chrome's trace events, one row per thread
 * and stream, arrows for dependencies between rows. */
#ifndef FD_ET_TIMELINE_H
#define FD_ET_TIMELINE_H

#include "et/et_graph.h"
#include "streams/output_stream.h"

/* Append the timeline. In a trace without times, each node starts as soon as
 * its dependencies have ended. FD_EINVAL: no durations either. */
fd_status fd_et_write_timeline(const fd_et *et, fd_bytes_out *out,
                               fd_error *error);

#endif
