/* Clock differences of inputs, estimated by each method separately. */
#ifndef FD_CLOCK_ESTIMATES_H
#define FD_CLOCK_ESTIMATES_H

#include "events/tools/input_survey.h"

/* Methods of estimation, the best first. */
typedef enum fd_timeline_method {
    FD_METHOD_PINGPONG,
    FD_METHOD_COLLECTIVE,
    FD_METHOD_P2P,
    FD_METHODS
} fd_timeline_method;

typedef struct fd_timeline_estimate {
    bool found;
    fd_clock_fit fit; /* from times of the input to times of the reference */
} fd_timeline_estimate;

/* An input of the estimation. */
typedef struct fd_estimate_input {
    uint32_t rank;
    const fd_timeline_sync *sync; /* borrowed */
} fd_estimate_input;

typedef struct fd_timeline_estimates {
    fd_estimate_input *inputs; /* owned; by rank */
    uint32_t count;
    fd_clock_part *parts; /* owned; of all inputs, by collective */
    uint32_t part_count;
    fd_timeline_estimate *of[FD_METHODS]; /* owned; by input */
} fd_timeline_estimates;

/* Estimate the clock of each input. The estimates take ownership of `inputs`;
 * clear them also after a failure. */
fd_status fd_timeline_estimates_make(fd_timeline_estimates *e,
                                     fd_estimate_input *inputs, uint32_t count,
                                     uint32_t reference);
void fd_timeline_estimates_clear(fd_timeline_estimates *e);

/* Count, for each input, collectives that it ended before another rank began
 * them, and messages that it received before they were sent, with times
 * corrected by `maps` (one per input). */
void fd_timeline_violations(const fd_timeline_estimates *e,
                            const fd_clock_map *maps, uint64_t *found);

#endif
