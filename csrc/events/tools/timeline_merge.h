/* Merges Chrome traces of many ranks into one (docs/guides/timeline-merge.md).
 * Only one input is open at a time, and no input is stored in memory. */
#ifndef FD_TIMELINE_MERGE_H
#define FD_TIMELINE_MERGE_H

#include "events/alignment/clock_alignment.h"

typedef struct fd_timeline_request {
    const char *output; /* native Perfetto when its name says so; with
                           `paddle` a folder */
    bool paddle; /* the files of events/readers/paddle_profile.h instead */
    bool named_durations;    /* durations are part of the names of slices */
    bool has_steps;          /* only what began in the steps from */
    uint64_t first_step;     /* this one */
    uint64_t end_step;       /* to before this one */
    const uint32_t *devices; /* GPUs that are wanted; NULL: all */
    size_t device_count;
    fd_timeline_align align;
    bool strict; /* FD_EINVAL where it is not known how good that is */
    const uint32_t *ranks; /* those wanted; NULL: all */
    size_t rank_count;
    bool sorted; /* all events by time; else file by file in their own order */
    /* Told now and then how many bytes of how many are read; false stops the
     * merge with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_timeline_request;

/* Whether a file of this name is a native Perfetto trace: .pftrace or
 * .perfetto-trace, and .gz may follow. */
bool fd_timeline_is_native(const char *path);

/* A rank that is there twice is FD_ECONFLICT; inputs none of which holds a
 * trace, FD_EFORMAT: then nothing is written. */
fd_status fd_timeline_merge(const fd_timeline_request *request,
                            fd_timeline_input *inputs, uint32_t count,
                            fd_error *error);

#endif
