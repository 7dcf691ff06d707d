#include "events/stats/kernel_kinds.h"

const char *
fd_kernel_kind_name(uint32_t kind)
{
    static const char *const names[FD_KERNEL_KINDS] = {
        "compute", "communication", "memory"};
    return names[kind];
}

void
fd_kernel_kinds_add(fd_kernel_kinds *kinds, fd_work work, int64_t from,
                    int64_t to)
{
    if (work == FD_WORK_NONE) {
        return;
    }
    kinds->first = !kinds->any || from < kinds->first ? from : kinds->first;
    kinds->last = !kinds->any || to > kinds->last ? to : kinds->last;
    kinds->any = true;
    kinds->count[work - 1]++;
    kinds->total[work - 1] += (uint64_t)(to - from);
}

static int64_t
length(const fd_intervals *set)
{
    return fd_intervals_within(set, INT64_MIN, INT64_MAX);
}

/* The time in which at least one of the kinds of `set` ran. */
static fd_status
time_of_any(const fd_rank_work *work, uint32_t set, int64_t *time)
{
    const fd_intervals *const kinds[FD_KERNEL_KINDS] = {
        &work->compute, &work->communication, &work->copies};
    fd_intervals any = {.sorted = 0};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < FD_KERNEL_KINDS && status == FD_OK; i++) {
        if (set >> i & 1) {
            status = fd_intervals_join(&any, kinds[i]);
        }
    }
    *time = length(&any);
    fd_intervals_clear(&any);
    return status;
}

fd_status
fd_kernel_kinds_measure(fd_kernel_kinds *kinds, const fd_rank_work *work)
{
    enum { ALL = FD_KERNEL_SETS - 1 };
    int64_t any[FD_KERNEL_SETS] = {0};
    fd_status status = FD_OK;
    for (uint32_t set = 1; set <= ALL && status == FD_OK; set++) {
        status = time_of_any(work, set, &any[set]);
    }
    /* While no kind outside of a set runs, only kinds of the set run: take the
     * times of its parts from that. */
    for (uint32_t set = 1; set <= ALL; set++) {
        kinds->time[set] = any[ALL] - any[ALL ^ set];
        for (uint32_t part = 1; part < set; part++) {
            kinds->time[set] -= (part & set) == part ? kinds->time[part] : 0;
        }
    }
    return status;
}
