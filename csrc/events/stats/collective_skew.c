#include "events/stats/collective_skew.h"

#include "base/budget.h"
#include "base/rows.h"

#include <stdbool.h>

void
fd_skew_clear(fd_skew *skew)
{
    for (uint32_t i = 0; i < skew->rows.count; i++) {
        fd_digest_clear(&skew->rows.list[i].begin);
        fd_digest_clear(&skew->rows.list[i].end);
    }
    fd_vector_clear(&skew->list);
    fd_vector_clear(&skew->rows);
    fd_map_clear(&skew->row_of);
    fd_vector_clear(&skew->ranks);
}

fd_status
fd_skew_add(fd_skew *skew, const fd_collective *collective)
{
    if (skew->list.count >= fd_budget(FD_SKEW_MOST)) {
        skew->left_out++;
        return FD_OK;
    }
    return fd_vector_push(&skew->list, *collective);
}

FD_ORDER_BY(by_key, fd_collective, key, rank, start, end)

static fd_status
count_last(fd_skew *skew, uint32_t rank)
{
    for (uint32_t i = 0; i < skew->ranks.count; i++) {
        if (skew->ranks.list[i].rank == rank) {
            skew->ranks.list[i].last++;
            return FD_OK;
        }
    }
    return fd_vector_push(&skew->ranks, (fd_skew_rank){rank, 1});
}

/* Measure one collective: the entries of its ranks are `each` apart in the
 * list. */
static fd_status
measure_collective(fd_skew *skew, fd_skew_row *row, const fd_collective *list,
                   uint32_t ranks, uint32_t each)
{
    const fd_collective *first = list;
    const fd_collective *last = list;
    int64_t first_end = list->end;
    int64_t last_end = list->end;
    for (uint32_t k = 1; k < ranks; k++) {
        const fd_collective *at = &list[(size_t)k * each];
        first = at->start < first->start ? at : first;
        last = at->start > last->start ? at : last;
        first_end = at->end < first_end ? at->end : first_end;
        last_end = at->end > last_end ? at->end : last_end;
    }
    uint64_t spread = (uint64_t)last->start - (uint64_t)first->start;
    if (row->matched == 0 || spread > row->worst) {
        row->worst = spread;
        row->worst_rank = last->rank;
    }
    row->matched++;
    row->ranks = ranks > row->ranks ? ranks : row->ranks;
    fd_status status = fd_digest_add(&row->begin, spread);
    if (status == FD_OK) {
        status =
            fd_digest_add(&row->end, (uint64_t)last_end - (uint64_t)first_end);
    }
    return status == FD_OK && spread > 0 ? count_last(skew, last->rank)
                                         : status;
}

/* Match the collectives of one key. */
static fd_status
match_key(fd_skew *skew, const fd_collective *list, uint32_t count)
{
    uint32_t each = 0;
    uint32_t ranks = 0;
    bool even = true;
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && list[next].rank == list[i].rank;) {
            next++;
        }
        even = even && (each == 0 || next - i == each);
        each = next - i;
        ranks++;
    }
    fd_skew_row *row =
        fd_row(&skew->rows, &skew->row_of,
               (uint64_t)list->name << 32 | (list->group + 1),
               &(fd_skew_row){.name = list->name, .group = list->group});
    if (row == NULL) {
        return FD_ENOMEM;
    }
    if (!even || ranks < 2) {
        row->unmatched += count;
        return FD_OK;
    }
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < each && status == FD_OK; i++) {
        status = measure_collective(skew, row, &list[i], ranks, each);
    }
    return status;
}

fd_status
fd_skew_match(fd_skew *skew)
{
    const fd_collective *list = skew->list.list;
    uint32_t count = skew->list.count;
    fd_status status = FD_OK;
    fd_vector_sort(&skew->list, by_key);
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        for (next = i; next < count && list[next].key == list[i].key;) {
            next++;
        }
        status = match_key(skew, &list[i], next - i);
    }
    return status;
}
