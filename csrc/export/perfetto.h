/* The timeline as a native Perfetto trace (docs/timeline.md has the packets).
 * https://perfetto.dev/docs/reference/trace-packet-proto */
#ifndef FD_PERFETTO_H
#define FD_PERFETTO_H

#include "export/export_options.h"

fd_export fd_export_perfetto;

#endif
