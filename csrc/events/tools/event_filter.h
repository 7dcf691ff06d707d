/* The filter of the events of an input by steps and by GPUs.
 *
 *   steps     keeps events that begin between the start of the first step and
 *             the end of the last one; uses the steps of the event's process,
 *             or those of the file if the process has none; an end is kept
 *             with its start
 *   devices   skips the processes and events of other GPUs
 *
 * Metadata rows are kept, except those of processes of other GPUs. */
#ifndef FD_EVENT_FILTER_H
#define FD_EVENT_FILTER_H

#include "events/merge_request.h"
#include "events/slice_kinds.h"

typedef struct fd_timeline_window {
    bool any;
    int64_t begin_ns;
    int64_t end_ns;
} fd_timeline_window;

/* The times of the requested steps in a file. */
typedef struct fd_timeline_windows {
    fd_timeline_window all;
    fd_text_pool pids; /* as spelled in the file, without quotes */
    FD_VECTOR(fd_timeline_window) list; /* by the index in `pids` */
} fd_timeline_windows;

/* Read the whole file and find the times. Clear `windows` also after a
 * failure. */
fd_status fd_timeline_windows_find(fd_timeline_windows *windows,
                                   const fd_timeline_input *input,
                                   uint64_t first_step, uint64_t end_step,
                                   fd_error *error);
void fd_timeline_windows_clear(fd_timeline_windows *windows);

typedef struct fd_timeline_filter {
    const fd_timeline_request *request; /* borrowed, like `windows` */
    const fd_timeline_windows *windows; /* NULL: all steps */
    fd_text_pool pids;
    FD_VECTOR(uint64_t) devices; /* by pid: device + 1; 0: no device known */
    fd_map open;                 /* thread or id -> number of kept begins, then
                  * skipped begins */
    uint64_t skipped;
} fd_timeline_filter;

void fd_timeline_filter_clear(fd_timeline_filter *filter);

/* Set `*keeps` to whether to keep an event, and count it otherwise. Must be
 * called in the order of the file. */
fd_status fd_timeline_filter_keeps(fd_timeline_filter *filter,
                                   const fd_timeline_event *event,
                                   bool *keeps);

#endif
