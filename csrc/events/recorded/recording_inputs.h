/* The clocks of our own recordings made one. */
#ifndef FD_RECORDING_INPUTS_H
#define FD_RECORDING_INPUTS_H

#include "events/alignment/clock_alignment.h"
#include "trace/export_options.h"

/* One for every rank of a trace that was read with its timeline. `base_ns` is
 * what time 0 is, since 1970. With `strict` FD_EINVAL and one line when it is
 * not known how good that is. */
fd_status fd_timeline_align_trace(const fd_trace *trace,
                                  fd_timeline_align align, bool strict,
                                  fd_export_clock *clocks, int64_t *base_ns,
                                  fd_error *error);

#endif
