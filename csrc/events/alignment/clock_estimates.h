/* Every way to know how the clocks of inputs differ, each by itself. */
#ifndef FD_CLOCK_ESTIMATES_H
#define FD_CLOCK_ESTIMATES_H

#include "events/tools/input_survey.h"

/* Best first. */
typedef enum fd_timeline_way {
    FD_WAY_PINGPONG,
    FD_WAY_COLLECTIVE,
    FD_WAY_P2P,
    FD_WAYS
} fd_timeline_way;

typedef struct fd_timeline_estimate {
    bool found;
    fd_clock_fit fit; /* from the input's times to the reference's */
} fd_timeline_estimate;

/* An input as they see it. */
typedef struct fd_timeline_witness {
    uint32_t rank;
    const fd_timeline_sync *sync; /* borrowed */
} fd_timeline_witness;

typedef struct fd_timeline_estimates {
    fd_timeline_witness *witnesses; /* owned; by rank */
    uint32_t count;
    fd_clock_part *parts; /* owned; of all inputs, by collective */
    uint32_t part_count;
    fd_timeline_estimate *of[FD_WAYS]; /* owned; by input */
} fd_timeline_estimates;

/* `witnesses` are taken over. Clear it in any case. */
fd_status fd_timeline_estimates_make(fd_timeline_estimates *e,
                                     fd_timeline_witness *witnesses,
                                     uint32_t count, uint32_t reference);
void fd_timeline_estimates_clear(fd_timeline_estimates *e);

/* Collectives that the input ended before another one had begun, and messages
 * that it received before they were sent, by corrected clocks; each input has
 * a map. */
void fd_timeline_violations(const fd_timeline_estimates *e,
                            const fd_clock_map *maps, uint64_t *found);

#endif
