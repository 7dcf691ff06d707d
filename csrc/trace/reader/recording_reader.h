/* Reader of recordings into a trace. */
#ifndef FD_RECORDING_READER_H
#define FD_RECORDING_READER_H

#include "trace/step_window.h"
#include "trace/trace_part.h"

/* Read a recording: finished, live, or left by a killed process. Damaged parts
 * are skipped and reported in the notes of the rank; paths whose start is lost
 * are below <lost>. The trace is sorted. The timeline, 24 bytes per event, is
 * read only on request. */
fd_status fd_reader_read(fd_trace **trace, const char *path, bool timeline,
                         fd_error *error);

/* Read a part of a recording with these selected steps instead of the settled
 * ones. `unsorted`: the caller calls fd_trace_sort after a merge. */
fd_status fd_reader_read_steps(fd_trace **trace, const char *path,
                               fd_trace_part part, bool unsorted,
                               const fd_steps_wanted *steps, fd_error *error);

/* Read a recording that this process has in memory. */
fd_status fd_reader_read_memory(fd_trace **trace, const void *base,
                                size_t size, bool timeline, fd_error *error);

#endif
