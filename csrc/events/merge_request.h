/* The options of a merge. */
#ifndef FD_MERGE_REQUEST_H
#define FD_MERGE_REQUEST_H

#include "events/alignment/clock_alignment.h"

typedef struct fd_timeline_request {
    const char *output; /* native Perfetto by its suffix; with
                           `paddle` a folder */
    bool paddle; /* the files of events/readers/paddle_profile.h instead */
    bool named_durations;    /* durations are part of the names of slices */
    bool has_steps;          /* only what began in the steps from */
    uint64_t first_step;     /* this one */
    uint64_t end_step;       /* to before this one */
    const uint32_t *devices; /* requested GPUs; NULL: all */
    size_t device_count;
    fd_timeline_align align;
    bool strict; /* FD_EINVAL if the accuracy of a clock is unknown */
    const uint32_t *ranks; /* requested; NULL: all */
    size_t rank_count;
    bool sorted; /* all events by time; else file by file in their own order */
    /* Called from time to time with the bytes read and their total; false stops the
     * merge with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_timeline_request;

#endif
