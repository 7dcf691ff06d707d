#include "events/stats/time_intervals.h"

#include "base/budget.h"

enum { FEW = 4096 };

void
fd_intervals_clear(fd_intervals *set)
{
    fd_vector_clear(&set->list);
    *set = (fd_intervals){.sorted = 0};
}

FD_ORDER_BY(by_begin, fd_interval, from, to)

/* Merge sorted intervals, closing gaps up to `gap`. */
static void
unite_intervals(fd_intervals *set, int64_t gap)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < set->list.count; i++) {
        fd_interval next = set->list.list[i];
        fd_interval *last = kept > 0 ? &set->list.list[kept - 1] : NULL;
        if (last == NULL || next.from > last->to + gap) {
            set->list.list[kept++] = next;
            continue;
        }
        if (next.from > last->to) {
            set->closed_ns += (uint64_t)(next.from - last->to);
        }
        last->to = next.to > last->to ? next.to : last->to;
    }
    set->list.count = set->sorted = kept;
}

void
fd_intervals_settle(fd_intervals *set)
{
    if (set->sorted < set->list.count) {
        fd_vector_sort(&set->list, by_begin);
        unite_intervals(set, set->gap);
    }
}

void
fd_intervals_close(fd_intervals *set, int64_t gap)
{
    fd_intervals_settle(set);
    set->gap = gap;
    unite_intervals(set, gap);
}

/* Extend the last interval if the new one begins within it, the most common
 * case. */
static bool
is_in_last(fd_intervals *set, int64_t from, int64_t to)
{
    if (set->list.count == 0) {
        return false;
    }
    fd_interval *last = &set->list.list[set->list.count - 1];
    if (from < last->from || from > last->to) {
        return false;
    }
    last->to = to > last->to ? to : last->to;
    return true;
}

fd_status
fd_intervals_add(fd_intervals *set, int64_t from, int64_t to)
{
    if (from >= to || is_in_last(set, from, to)) {
        return FD_OK;
    }
    bool in_order = set->sorted == set->list.count
                 && (set->sorted == 0
                     || from > set->list.list[set->sorted - 1].to + set->gap);
    fd_status status = fd_vector_push(&set->list, (fd_interval){from, to});
    set->sorted += status == FD_OK && in_order;
    /* Limit the cost of sorting: sort when the new intervals outnumber the
     * sorted ones. */
    if (set->list.count - set->sorted > fd_budget(FEW) + set->sorted) {
        fd_intervals_settle(set);
    }
    return status;
}

fd_status
fd_intervals_join(fd_intervals *to, const fd_intervals *from)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < from->list.count && status == FD_OK; i++) {
        status = fd_intervals_add(to, from->list.list[i].from,
                                  from->list.list[i].to);
    }
    fd_intervals_settle(to);
    return status;
}

fd_status
fd_intervals_without(const fd_intervals *set, const fd_intervals *other,
                     fd_intervals *to)
{
    fd_status status = FD_OK;
    uint32_t next = 0;
    for (uint32_t i = 0; i < set->list.count && status == FD_OK; i++) {
        fd_interval left = set->list.list[i];
        while (next < other->list.count
               && other->list.list[next].to <= left.from) {
            next++;
        }
        for (uint32_t k = next; k < other->list.count && status == FD_OK
                                && other->list.list[k].from < left.to;
             k++) {
            fd_interval hole = other->list.list[k];
            if (hole.from > left.from) {
                status = fd_vector_push(&to->list,
                                        (fd_interval){left.from, hole.from});
            }
            left.from = hole.to;
        }
        if (left.from < left.to && status == FD_OK) {
            status = fd_vector_push(&to->list, left);
        }
    }
    to->sorted = to->list.count;
    return status;
}

int64_t
fd_intervals_within(const fd_intervals *set, int64_t from, int64_t to)
{
    uint32_t low = 0;
    uint32_t high = set->list.count;
    int64_t sum = 0;
    FD_BISECT(low, high, set->list.list[middle].to <= from);
    for (; low < set->list.count && set->list.list[low].from < to; low++) {
        fd_interval each = set->list.list[low];
        sum += (each.to < to ? each.to : to)
             - (each.from > from ? each.from : from);
    }
    return sum;
}
