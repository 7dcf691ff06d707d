/* Opening of a PATH of the command line as a trace. */
#ifndef FD_TRACE_SOURCE_H
#define FD_TRACE_SOURCE_H

#include "trace/step_window.h"
#include "trace/trace_part.h"

/* Open a recording, a dump or merge, or a run directory: the recordings listed
 * in its manifest.json (without one, all *.fd) and those of its machine*
 * folders, merged. In a directory, unreadable files and duplicate ranks are
 * skipped and reported in the notes of the first rank. The trace is sorted.
 * Only recordings have a timeline. */
fd_status fd_source_open(fd_trace **trace, const char *path, bool timeline,
                         fd_error *error);

/* Open and merge several paths. */
fd_status fd_source_open_all(fd_trace **trace, const char *const *paths,
                             size_t count, bool timeline, fd_error *error);

/* Open and merge several paths, and reduce the trace to the selected steps
 * (fd_window_apply) unless `steps` is NULL. FD_EFORMAT: the requested range of
 * steps cannot be selected. With `segments`, the paths name all segments of
 * rotated recordings, and ranks with missing segments are incomplete
 * (trace/segment_join.h). */
fd_status fd_source_open_steps(fd_trace **trace, const char *const *paths,
                               size_t count, fd_trace_part part, bool segments,
                               const fd_steps_wanted *steps, fd_error *error);

#endif
