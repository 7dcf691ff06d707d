/* The options of a merge. */
#ifndef FD_MERGE_REQUEST_H
#define FD_MERGE_REQUEST_H

#include "events/alignment/clock_alignment.h"

typedef struct fd_timeline_request {
    const char *output;   /* path; a suffix selects native Perfetto */
    bool named_durations; /* add durations to the names of slices */
    bool has_times;       /* copy only events that overlap these times */
    int64_t begin_ns;     /* ns since the earliest event of all inputs */
    int64_t end_ns;       /* not included */
    bool has_steps;       /* copy only events that begin in the steps */
    uint64_t first_step;  /* from this step */
    uint64_t end_step;    /* up to, but not including, this step */
    fd_timeline_align align;
    bool strict;           /* fail with FD_EINVAL if the accuracy of a clock
                  * is unknown */
    const uint32_t *ranks; /* requested ranks; NULL: all */
    size_t rank_count;
    bool sorted; /* all events by time; otherwise each file in its own order */
    /* Called from time to time with the number of bytes read and the total;
     * returning false stops the merge with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_timeline_request;

#endif
