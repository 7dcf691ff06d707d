#include "columns/rank_sketch.h"

#include "base/log_buckets.h"

#include <string.h>

void
fd_sketch_clear(fd_sketch_list *list)
{
    fd_vector_clear(&list->buckets);
}

static int
compare(const fd_rank_bucket *a, const fd_rank_bucket *b)
{
    if (a->context != b->context) {
        return a->context < b->context ? -1 : 1;
    }
    if (a->figure != b->figure) {
        return a->figure < b->figure ? -1 : 1;
    }
    return (a->bucket > b->bucket) - (a->bucket < b->bucket);
}

/* Merge both lists into `to`, which has sufficient capacity. */
static uint32_t
merge(fd_rank_bucket *to, const fd_sketch_list *list,
      const fd_rank_bucket *more, uint32_t count)
{
    uint32_t i = 0;
    uint32_t k = 0;
    uint32_t made = 0;
    while (i < list->buckets.count || k < count) {
        const fd_rank_bucket *old = &list->buckets.list[i];
        int order = i == list->buckets.count ? 1
                  : k == count               ? -1
                                             : compare(old, &more[k]);
        to[made] = order <= 0 ? *old : more[k];
        to[made++].ranks += order == 0 ? more[k].ranks : 0;
        i += order <= 0;
        k += order >= 0;
    }
    return made;
}

fd_status
fd_sketch_add(fd_sketch_list *list, const fd_rank_bucket *more, uint32_t count)
{
    fd_sketch_list made = {.buckets = {NULL, 0, 0}};
    if (count == 0) {
        return FD_OK;
    }
    if (fd_vector_reserve(&made.buckets, (size_t)list->buckets.count + count)
        != FD_OK) {
        return FD_ENOMEM;
    }
    made.buckets.count = merge(made.buckets.list, list, more, count);
    fd_sketch_clear(list);
    *list = made;
    return FD_OK;
}

uint32_t
fd_sketch_values(uint32_t context, uint64_t self, uint64_t total,
                 fd_rank_bucket made[2])
{
    uint32_t own = fd_log_bucket(self, FD_SKETCH_BITS);
    uint32_t all = fd_log_bucket(total, FD_SKETCH_BITS);
    bool equal = own == all;
    made[0] = (fd_rank_bucket){
        context, equal ? FD_SKETCH_BOTH : FD_SKETCH_SELF, own, 1};
    made[1] = (fd_rank_bucket){context, FD_SKETCH_TOTAL, all, 1};
    return equal ? 1 : 2;
}

/* Return the first bucket of the list that is not before `wanted`. */
static uint32_t
first_of(const fd_rank_bucket *list, uint32_t count,
         const fd_rank_bucket *wanted)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(&list[middle], wanted) < 0) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Find the buckets of one context and figure, and add their ranks to
 * `ranks`. */
static const fd_rank_bucket *
find(const fd_rank_bucket *list, uint32_t count, const fd_rank_bucket *wanted,
     uint32_t *buckets, uint64_t *ranks)
{
    uint32_t first = first_of(list, count, wanted);
    uint32_t at = first;
    for (; at < count && list[at].context == wanted->context
           && list[at].figure == wanted->figure;
         at++) {
        *ranks += list[at].ranks;
    }
    *buckets = at - first;
    return list + first;
}

fd_sketch
fd_sketch_find(const fd_rank_bucket *list, uint32_t count, uint32_t context,
               uint32_t figure)
{
    fd_rank_bucket wanted = {.context = context, .figure = figure};
    fd_rank_bucket shared = {.context = context, .figure = FD_SKETCH_BOTH};
    fd_sketch found = {.ranks = 0};
    found.list = find(list, count, &wanted, &found.count, &found.ranks);
    found.both = find(list, count, &shared, &found.both_count, &found.ranks);
    return found;
}

uint64_t
fd_sketch_at(const fd_sketch *sketch, const fd_rank_range *range, double share)
{
    double exact = share * (double)sketch->ranks;
    uint64_t index = (uint64_t)exact;
    uint64_t seen = 0;
    uint32_t i = 0;
    uint32_t k = 0;
    index += (double)index < exact || index == 0;
    while (i < sketch->count || k < sketch->both_count) {
        bool own = k == sketch->both_count
                || (i < sketch->count
                    && sketch->list[i].bucket < sketch->both[k].bucket);
        const fd_rank_bucket *next =
            own ? &sketch->list[i++] : &sketch->both[k++];
        seen += next->ranks;
        if (seen >= index) {
            uint64_t value =
                fd_log_bucket_middle((uint16_t)next->bucket, FD_SKETCH_BITS);
            return value < range->min ? range->min
                 : value > range->max ? range->max
                                      : value;
        }
    }
    return range->max;
}
