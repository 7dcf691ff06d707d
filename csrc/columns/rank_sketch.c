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

/* Both lists as one, into a list with room. */
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

fd_rank_bucket
fd_sketch_value(uint32_t context, uint32_t figure, uint64_t value)
{
    return (fd_rank_bucket){context, figure,
                            fd_log_bucket(value, FD_SKETCH_BITS), 1};
}

/* The first bucket of the list that is not before `wanted`. */
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

fd_sketch
fd_sketch_find(const fd_rank_bucket *list, uint32_t count, uint32_t context,
               uint32_t figure)
{
    fd_rank_bucket wanted = {.context = context, .figure = figure};
    uint32_t at = first_of(list, count, &wanted);
    fd_sketch found = {.list = list + at};
    for (; at < count && list[at].context == context
           && list[at].figure == figure;
         at++) {
        found.ranks += list[at].ranks;
        found.count++;
    }
    return found;
}

uint64_t
fd_sketch_at(const fd_sketch *sketch, const fd_rank_range *range, double share)
{
    double exact = share * (double)sketch->ranks;
    uint64_t place = (uint64_t)exact;
    uint64_t seen = 0;
    place += (double)place < exact || place == 0;
    for (uint32_t i = 0; i < sketch->count; i++) {
        seen += sketch->list[i].ranks;
        if (seen >= place) {
            uint64_t value = fd_log_bucket_middle(
                (uint16_t)sketch->list[i].bucket, FD_SKETCH_BITS);
            return value < range->min ? range->min
                 : value > range->max ? range->max
                                      : value;
        }
    }
    return range->max;
}
