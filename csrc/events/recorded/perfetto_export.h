/* The timeline as a native Perfetto trace (packets: docs/formats/timeline.md).
 * https://perfetto.dev/docs/reference/trace-packet-proto */
#ifndef FD_PERFETTO_EXPORT_H
#define FD_PERFETTO_EXPORT_H

#include "trace/export_options.h"

fd_export fd_export_perfetto;

#endif
