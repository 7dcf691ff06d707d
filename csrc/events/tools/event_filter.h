/* The filter of the events of an input by steps or by time.
 *
 *   steps     keeps events that begin between the start of the first step and
 *             the end of the last one; uses the steps of the event's process,
 *             or those of the file if the process has none
 *   time      keeps events that overlap the requested times
 *
 * Begins and ends of a slice are kept together, and a flow only if all its
 * events are inside. Metadata rows are kept. */
#ifndef FD_EVENT_FILTER_H
#define FD_EVENT_FILTER_H

#include "events/merge_request.h"
#include "events/stats/slice_reader.h"

typedef struct fd_timeline_window {
    bool any;
    bool open; /* has a step of length 0, the last one at `open_ns` */
    int64_t begin_ns;
    int64_t end_ns;
    int64_t open_ns;
} fd_timeline_window;

/* The times of the requested steps in a file. */
typedef struct fd_timeline_windows {
    fd_timeline_window all;
    bool has_next;
    int64_t next_ns;   /* start of the first step after the requested ones */
    fd_text_pool pids; /* as spelled in the file, without quotes */
    FD_VECTOR(fd_timeline_window) list; /* by the index in `pids` */
} fd_timeline_windows;

/* Read the whole file and find the times. Clear `windows` also after a
 * failure. */
fd_status fd_timeline_windows_find(fd_timeline_windows *windows,
                                   const fd_timeline_input *input,
                                   const fd_timeline_request *request,
                                   fd_error *error);
void fd_timeline_windows_clear(fd_timeline_windows *windows);

typedef struct fd_timeline_filter {
    const fd_timeline_request *request; /* borrowed, like `input` */
    const fd_timeline_input *input;
    int64_t origin_ns;         /* the earliest time of the merge */
    fd_timeline_slices slices; /* while pairs are searched */
    FD_VECTOR(uint64_t) pairs; /* a bit per event: part of a kept pair */
    fd_map launches; /* for steps: correlation + 1 -> whether inside */
    fd_map flows;    /* has events inside, outside */
    uint64_t number; /* of the next event */
    uint64_t kept;   /* except metadata rows */
    uint64_t skipped;
} fd_timeline_filter;

/* If steps or times are requested, read the whole file and find the pairs and
 * flows to keep. Clear the filter also after a failure. */
fd_status fd_timeline_filter_begin(fd_timeline_filter *filter,
                                   fd_error *error);
void fd_timeline_filter_clear(fd_timeline_filter *filter);

/* Return whether to keep an event, and count it otherwise. Must be called for
 * all events in the order of the file. */
bool fd_timeline_filter_keeps(fd_timeline_filter *filter,
                              const fd_timeline_event *event);

#endif
