/* Opening of a PATH of the command line as a trace. */
#ifndef FD_TRACE_SOURCE_H
#define FD_TRACE_SOURCE_H

#include "trace/step_window.h"
#include "trace/trace_part.h"

/* Open and merge paths: recordings, dumps, merges, and run directories, which
 * stand for the recordings listed in manifest.json (without one, all *.fd) and
 * those of machine* folders. In a directory, unreadable files and duplicate
 * ranks are skipped and reported in the notes of the first rank. The trace is
 * sorted, and reduced to the selected steps (fd_window_apply) unless `steps`
 * is NULL. Only recordings have a timeline. FD_EFORMAT: also if the requested
 * range of steps cannot be selected. */
fd_status fd_source_open(fd_trace **trace, const char *const *paths,
                         size_t count, fd_trace_part part,
                         const fd_steps_wanted *steps, fd_error *error);

#endif
