/* Chrome traces of many ranks into one: docs/timeline-merge.md says what comes
 * out. One input is open at a time and none is held in memory. */
#ifndef FD_TIMELINE_MERGE_H
#define FD_TIMELINE_MERGE_H

#include "timeline/survey.h"

typedef enum fd_timeline_align {
    FD_ALIGN_NONE, /* times as they are */
    FD_ALIGN_WALL, /* by baseTimeNanoseconds */
    FD_ALIGN_START /* each input begins at 0 */
} fd_timeline_align;

const char *fd_timeline_align_name(fd_timeline_align align);

/* The caller sets the path and the rank it guesses from it; the rest is what
 * came of it. */
typedef struct fd_timeline_input {
    const char *path; /* borrowed */
    uint32_t rank;
    bool used; /* a trace, of a rank that was asked for */
    bool left_out; /* of a rank that was not asked for */
    fd_timeline_survey survey;
    fd_timeline_align align;
    int64_t shift_ns;
    uint64_t events;
    uint64_t lost;       /* damaged places */
    uint64_t lost_bytes; /* in them */
    uint64_t repaired;   /* values that were no JSON */
    char trouble[128];   /* the first damage, in words; "" */
} fd_timeline_input;

typedef struct fd_timeline_request {
    const char *output;
    fd_timeline_align align;
    const uint32_t *ranks; /* those wanted; NULL: all */
    size_t rank_count;
    /* Told now and then how many bytes of how many are read; false stops the
     * merge with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_timeline_request;

/* A rank that is there twice is FD_ECONFLICT; inputs none of which holds a
 * trace, FD_EFORMAT: then nothing is written. */
fd_status fd_timeline_merge(const fd_timeline_request *request,
                            fd_timeline_input *inputs, uint32_t count,
                            fd_error *error);

#endif
