/* Export of the call tree to files of programs that show stacks:
 * docs/formats/exports.md. */
#ifndef FD_STACK_EXPORTS_H
#define FD_STACK_EXPORTS_H

#include "trace/export_options.h"

/* Write https://github.com/google/pprof/blob/main/proto/profile.proto, not
 * compressed: a sample for each context, with calls, self time, self time on a
 * GPU, resumes, and bytes communicated and allocated. */
fd_export fd_export_pprof;

#endif
