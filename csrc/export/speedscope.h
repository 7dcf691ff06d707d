/* The format of speedscope.app: docs/guides/export.md. */
#ifndef FD_SPEEDSCOPE_H
#define FD_SPEEDSCOPE_H

#include "trace/export_options.h"

/* https://www.speedscope.app/file-format-schema.json: an evented profile for
 * each thread of each rank. */
fd_status fd_export_speedscope(const fd_trace *trace,
                               const fd_export_options *options, fd_buffer *to,
                               fd_error *error);

#endif
