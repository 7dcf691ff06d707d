/* The format of pprof: docs/guides/export.md. */
#ifndef FD_PPROF_H
#define FD_PPROF_H

#include "trace/export_options.h"

/* https://github.com/google/pprof/blob/main/proto/profile.proto, not
 * compressed: a sample for each context, with calls, self time, self time on a
 * GPU, resumes, FLOPs, and bytes communicated and allocated. */
fd_status fd_export_pprof(const fd_trace *trace,
                          const fd_export_options *options, fd_buffer *to,
                          fd_error *error);

#endif
