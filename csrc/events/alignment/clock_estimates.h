/* Clock differences of inputs, estimated by each method separately. */
#ifndef FD_CLOCK_ESTIMATES_H
#define FD_CLOCK_ESTIMATES_H

#include "events/tools/input_survey.h"

/* Best first. */
typedef enum fd_timeline_method {
    FD_METHOD_PINGPONG,
    FD_METHOD_COLLECTIVE,
    FD_METHOD_P2P,
    FD_METHODS
} fd_timeline_method;

typedef struct fd_timeline_estimate {
    bool found;
    fd_clock_fit fit; /* from the input's times to the reference's */
} fd_timeline_estimate;

/* An input of the estimates. */
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

/* `inputs` are owned by the estimates. Clear them in any case. */
fd_status fd_timeline_estimates_make(fd_timeline_estimates *e,
                                     fd_estimate_input *inputs, uint32_t count,
                                     uint32_t reference);
void fd_timeline_estimates_clear(fd_timeline_estimates *e);

/* Collectives that the input ended before another one had begun, and messages
 * that it received before they were sent, by corrected clocks; each input has
 * a map. */
void fd_timeline_violations(const fd_timeline_estimates *e,
                            const fd_clock_map *maps, uint64_t *found);

#endif
