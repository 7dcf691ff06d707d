/* Folded stacks, one "main;step;forward 123" per line: docs/guides/export.md.
 * */
#ifndef FD_FOLDED_H
#define FD_FOLDED_H

#include "trace/export_options.h"

/* https://github.com/brendangregg/FlameGraph: read by flamegraph.pl, inferno
 * and speedscope. */
fd_status fd_export_folded(const fd_trace *trace,
                           const fd_export_options *options, fd_buffer *to,
                           fd_error *error);

#endif
