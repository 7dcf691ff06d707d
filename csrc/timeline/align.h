/* The clocks of all inputs of a merge made one. */
#ifndef FD_TIMELINE_ALIGN_H
#define FD_TIMELINE_ALIGN_H

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
    bool beside;   /* another input is of the same rank */
    char label[FD_TIMELINE_NAME * 2 + 32]; /* of its processes */
    fd_timeline_survey survey;
    fd_timeline_align align;
    int64_t shift_ns;
    struct fd_timeline_windows *windows; /* owned by the merge; NULL: all */
    uint64_t events;
    uint64_t filtered;   /* events of other steps and devices */
    uint64_t lost;       /* damaged places */
    uint64_t lost_bytes; /* in them */
    uint64_t repaired;   /* values that were no JSON */
    char trouble[128];   /* the first damage, in words; "" */
} fd_timeline_input;

/* What time 0 of the merge is. */
typedef struct fd_timeline_clock {
    bool has_base;
    int64_t base_ns; /* since 1970 */
} fd_timeline_clock;

/* Set `align` and `shift_ns` of all inputs that are used. */
void fd_timeline_align_all(fd_timeline_input *const *inputs, uint32_t count,
                           fd_timeline_align align, fd_timeline_clock *clock);

#endif
