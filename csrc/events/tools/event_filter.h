/* Which events of an input a merge keeps: those of some steps and some GPUs.
 *
 *   steps     what begins between the begin of the first step and the end of the
 *             last one, by the steps of its own process where that has some,
 *             else by those of the file; an end goes with its begin
 *   devices   all but the processes and events of other GPUs
 *
 * Rows of metadata stay, except those of processes of other GPUs. */
#ifndef FD_EVENT_FILTER_H
#define FD_EVENT_FILTER_H

#include "events/merge_request.h"
#include "events/slice_kinds.h"

typedef struct fd_timeline_window {
    bool any;
    int64_t begin_ns;
    int64_t end_ns;
} fd_timeline_window;

/* When the steps of a file were. */
typedef struct fd_timeline_windows {
    fd_timeline_window all;
    fd_text_pool pids; /* as the file spells them, without quotes */
    FD_VECTOR(fd_timeline_window) list; /* by their ids */
} fd_timeline_windows;

/* Reads the whole file. Clear it in any case. */
fd_status fd_timeline_windows_find(fd_timeline_windows *windows,
                                   const fd_timeline_input *input,
                                   uint64_t first_step, uint64_t end_step,
                                   fd_error *error);
void fd_timeline_windows_clear(fd_timeline_windows *windows);

typedef struct fd_timeline_filter {
    const fd_timeline_request *request; /* borrowed, as the next */
    const fd_timeline_windows *windows; /* NULL: all steps */
    fd_text_pool pids;
    FD_VECTOR(uint64_t) devices; /* of each pid, plus 1; 0: none known */
    fd_map open; /* thread or id -> begins kept, later begins skipped */
    uint64_t skipped;
} fd_timeline_filter;

void fd_timeline_filter_clear(fd_timeline_filter *filter);

/* Whether to keep an event; counts the others. Call it in the order of the
 * file. */
fd_status fd_timeline_filter_keeps(fd_timeline_filter *filter,
                                   const fd_timeline_event *event,
                                   bool *keeps);

#endif
