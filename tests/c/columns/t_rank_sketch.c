#include "check.h"

#include "base/log_buckets.h"
#include "columns/rank_sketch.h"

static const fd_rank_range ANY = {0, UINT64_MAX, 0, 0};

static fd_status
add(fd_sketch_list *list, uint32_t context, uint64_t value)
{
    fd_rank_bucket one[2];
    return fd_sketch_add(list, one,
                         fd_sketch_values(context, value, value * 2, one));
}

/* Percentiles are within the stated error, in any order of the values. */
static void
percentiles(void)
{
    CLEAN(fd_sketch_clear) fd_sketch_list list = {.buckets = {NULL, 0, 0}};
    for (uint64_t i = 0; i < 101; i++) {
        OK(add(&list, 3, 1000000 + i * 37 % 101 * 10000));
        OK(add(&list, 4, i));
    }
    fd_sketch found = fd_sketch_find(list.buckets.list, list.buckets.count, 3,
                                     FD_SKETCH_SELF);
    EQUAL(found.ranks, 101);
    double middle = (double)fd_sketch_at(&found, &ANY, 0.5);
    CHECK(middle >= 1500000 * (1 - fd_log_bucket_error(FD_SKETCH_BITS)));
    CHECK(middle <= 1500000 * (1 + fd_log_bucket_error(FD_SKETCH_BITS)));
    fd_rank_range narrow = {1990000, 2000000, 0, 0};
    EQUAL(fd_sketch_at(&found, &narrow, 0.0), 1990000);
    CHECK(fd_sketch_at(&found, &narrow, 1.0) <= 2000000);
    found = fd_sketch_find(list.buckets.list, list.buckets.count, 4,
                           FD_SKETCH_SELF);
    EQUAL(fd_sketch_at(&found, &ANY, 0.5), 50); /* small values are exact */
}

/* Merging adds ranks of equal buckets, and keeps the order. */
static void
merges(void)
{
    CLEAN(fd_sketch_clear) fd_sketch_list list = {.buckets = {NULL, 0, 0}};
    const fd_rank_bucket one[] = {{1, 0, 5, 2}, {1, 1, 5, 1}, {2, 0, 7, 1}};
    const fd_rank_bucket other[] = {{1, 0, 4, 1}, {1, 0, 5, 3}, {3, 0, 0, 1}};
    OK(fd_sketch_add(&list, one, 3));
    OK(fd_sketch_add(&list, NULL, 0));
    OK(fd_sketch_add(&list, other, 3));
    EQUAL(list.buckets.count, 5);
    EQUAL(list.buckets.list[0].bucket, 4);
    EQUAL(list.buckets.list[1].ranks, 5);
    EQUAL(list.buckets.list[2].figure, 1);
    EQUAL(list.buckets.list[4].context, 3);
    fd_sketch none = fd_sketch_find(list.buckets.list, list.buckets.count, 9,
                                    FD_SKETCH_SELF);
    EQUAL(none.count, 0);
}

/* Ranks whose self time is the total count for both figures, once. */
static void
equal_times(void)
{
    CLEAN(fd_sketch_clear) fd_sketch_list list = {.buckets = {NULL, 0, 0}};
    for (uint64_t i = 1; i <= 9; i++) {
        fd_rank_bucket one[2];
        uint32_t count = fd_sketch_values(1, i, i < 4 ? 50 + i : i, one);
        EQUAL(count, i < 4 ? 2 : 1);
        OK(fd_sketch_add(&list, one, count));
    }
    fd_sketch self = fd_sketch_find(list.buckets.list, list.buckets.count, 1,
                                    FD_SKETCH_SELF);
    fd_sketch total = fd_sketch_find(list.buckets.list, list.buckets.count, 1,
                                     FD_SKETCH_TOTAL);
    EQUAL(self.ranks, 9);
    EQUAL(total.ranks, 9);
    EQUAL(list.buckets.count, 12);
    EQUAL(fd_sketch_at(&self, &ANY, 0.5), 5);
    EQUAL(fd_sketch_at(&self, &ANY, 0.1), 1);
    EQUAL(fd_sketch_at(&total, &ANY, 0.5), 8);
    EQUAL(fd_sketch_at(&total, &ANY, 1.0), 53);
}

RUN(TEST(percentiles), TEST(merges), TEST(equal_times))
