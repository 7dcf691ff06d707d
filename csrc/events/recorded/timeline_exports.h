/* Export of the timeline of a recording to a
 * file (docs/formats/timeline.md). */
#ifndef FD_TIMELINE_EXPORTS_H
#define FD_TIMELINE_EXPORTS_H

#include "trace/export_options.h"

/* Chrome trace events in JSON, object form. "Trace Event Format", Google,
 * 2016. */
fd_export fd_export_chrome;

/* A native Perfetto trace.
 * https://perfetto.dev/docs/reference/trace-packet-proto */
fd_export fd_export_perfetto;

#endif
