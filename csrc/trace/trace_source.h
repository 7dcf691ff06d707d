/* Opening of a PATH of the command line as a trace. */
#ifndef FD_TRACE_SOURCE_H
#define FD_TRACE_SOURCE_H

#include "trace/step_window.h"
#include "trace/trace_part.h"

/* A recording; or a dump, which Python has read
 * (python/fastdispatch/read/dump_tables.py). */
typedef struct fd_trace_file {
    const char *path;
    fd_trace *dump; /* loses its ranks; NULL: a recording */
} fd_trace_file;

/* An input: a file; or files of a directory, which Python has chosen
 * (python/fastdispatch/files/run_sources.py). */
typedef struct fd_trace_input {
    fd_trace_file file;         /* or the path of the directory */
    const fd_trace_file *files; /* the preferred ones first; NULL: a file */
    uint32_t file_count;
    const char *const *notes; /* lines about other files of the directory */
    uint32_t note_count;
} fd_trace_input;

/* Open and merge inputs. In a directory, unreadable files and duplicate ranks
 * are skipped and reported in the notes of the first rank. The trace is
 * sorted, and reduced to the selected steps (fd_window_apply) unless `steps`
 * is NULL. Only recordings have a timeline. FD_EFORMAT: also if the requested
 * range of steps cannot be selected. */
fd_status fd_source_open(fd_trace **trace, const fd_trace_input *sources,
                         size_t count, fd_trace_part part,
                         const fd_steps_wanted *steps, fd_error *error);

#endif
