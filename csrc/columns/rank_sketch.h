/* Sketches: the distribution of a figure over ranks as counts in buckets.
 * Sketches can be merged in any order with the same result. */
#ifndef FD_RANK_SKETCH_H
#define FD_RANK_SKETCH_H

#include "trace/trace.h"

/* The width of a bucket is at most 1/64 of its value. */
enum { FD_SKETCH_BITS = 6 };

typedef struct fd_sketch_list {
    FD_VECTOR(fd_rank_bucket) buckets; /* sorted by context, figure, bucket */
} fd_sketch_list;

void fd_sketch_clear(fd_sketch_list *list);

/* Add `count` buckets, which must be sorted in the same way. */
fd_status fd_sketch_add(fd_sketch_list *list, const fd_rank_bucket *more,
                        uint32_t count);

/* Make the buckets of one rank with these times: two, or one for both figures.
 * Return their number. */
uint32_t fd_sketch_values(uint32_t context, uint64_t self, uint64_t total,
                          fd_rank_bucket made[2]);

/* The buckets of one context and figure in a sorted list, and those of the
 * context that apply to both figures. */
typedef struct fd_sketch {
    const fd_rank_bucket *list;
    const fd_rank_bucket *both;
    uint32_t count;
    uint32_t both_count;
    uint64_t ranks;
} fd_sketch;

fd_sketch fd_sketch_find(const fd_rank_bucket *list, uint32_t count,
                         uint32_t context, uint32_t figure);

/* Return the percentile `share` (0.5: the median) by the nearest-rank method:
 * with a relative error of at most fd_log_bucket_error(FD_SKETCH_BITS),
 * limited to the range. */
uint64_t fd_sketch_at(const fd_sketch *sketch, const fd_rank_range *range,
                      double share);

#endif
