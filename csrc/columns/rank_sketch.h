/* The values of a figure over ranks as counts in buckets: a sketch of their
 * distribution that can be merged in any order, with the same result. */
#ifndef FD_RANK_SKETCH_H
#define FD_RANK_SKETCH_H

#include "trace/trace.h"

/* Buckets are at most 1/64 of their value wide. */
enum { FD_SKETCH_BITS = 6 };

typedef struct fd_sketch_list {
    FD_VECTOR(fd_rank_bucket) buckets; /* by context, figure, bucket */
} fd_sketch_list;

void fd_sketch_clear(fd_sketch_list *list);

/* Add `count` buckets in the same order. */
fd_status fd_sketch_add(fd_sketch_list *list, const fd_rank_bucket *more,
                        uint32_t count);

/* One rank with these times: two buckets, or one for both figures. Returns
 * their number. */
uint32_t fd_sketch_values(uint32_t context, uint64_t self, uint64_t total,
                          fd_rank_bucket made[2]);

/* Buckets of one context and figure, out of a list in this order, and those
 * of the context that count for both figures. */
typedef struct fd_sketch {
    const fd_rank_bucket *list;
    const fd_rank_bucket *both;
    uint32_t count;
    uint32_t both_count;
    uint64_t ranks;
} fd_sketch;

fd_sketch fd_sketch_find(const fd_rank_bucket *list, uint32_t count,
                         uint32_t context, uint32_t figure);

/* The value at a share (0.5: the median) of the sorted ones, the nearest rank:
 * within fd_log_bucket_error(FD_SKETCH_BITS) of it, and within the range. */
uint64_t fd_sketch_at(const fd_sketch *sketch, const fd_rank_range *range,
                      double share);

#endif
