#include "events/stats/busy_intervals.h"

#include "base/budget.h"
#include "base/rows.h"

enum { FIRST_GAP = 64 };

void
fd_lanes_clear(fd_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->list.count; i++) {
        fd_intervals_clear(&lanes->list.list[i].compute);
        fd_intervals_clear(&lanes->list.list[i].communication);
        fd_intervals_clear(&lanes->list.list[i].copies);
    }
    fd_vector_clear(&lanes->list);
    fd_map_clear(&lanes->of_thread);
    lanes->held = 0;
}

static uint64_t
close_gaps(fd_intervals *set, int64_t gap)
{
    fd_intervals_close(set, gap);
    return set->list.count;
}

/* Close gaps, longer ones in each iteration, until half of the capacity is
 * free. */
static void
make_room(fd_lanes *lanes, uint64_t most)
{
    int64_t gap = lanes->gap; /* sorting and merging may be sufficient */
    do {
        lanes->held = 0;
        for (uint32_t i = 0; i < lanes->list.count; i++) {
            fd_lane *lane = &lanes->list.list[i];
            lanes->held += close_gaps(&lane->compute, gap);
            lanes->held += close_gaps(&lane->communication, gap);
            lanes->held += close_gaps(&lane->copies, gap);
        }
        lanes->gap = gap;
        gap = gap == 0 ? FIRST_GAP : 2 * gap;
    } while (lanes->held > most / 2 && gap < INT64_MAX / 4);
}

fd_status
fd_lanes_add(fd_lanes *lanes, uint32_t rank, uint32_t thread, fd_work work,
             int64_t from, int64_t to)
{
    if (work == FD_WORK_NONE) {
        return FD_OK;
    }
    fd_lane *lane =
        fd_row(&lanes->list, &lanes->of_thread,
               (uint64_t)rank << 32 | (thread + 1), &(fd_lane){.rank = rank});
    if (lane == NULL) {
        return FD_ENOMEM;
    }
    fd_intervals *set = work == FD_WORK_COMPUTE       ? &lane->compute
                      : work == FD_WORK_COMMUNICATION ? &lane->communication
                                                      : &lane->copies;
    set->gap = lanes->gap;
    uint32_t before = set->list.count;
    fd_status status = fd_intervals_add(set, from, to);
    uint64_t most =
        lanes->most != 0 ? lanes->most : fd_budget(FD_LANES_INTERVALS);
    lanes->held += set->list.count - (uint64_t)before;
    if (lanes->held > most) {
        make_room(lanes, most);
    }
    return status;
}

static fd_status
add_lane(fd_lanes *lanes, fd_lane *lane, fd_rank_work *work)
{
    fd_intervals alone = {.sorted = 0};
    fd_intervals_settle(&lane->compute);
    fd_intervals_settle(&lane->communication);
    fd_intervals_settle(&lane->copies);
    lanes->closed_ns += lane->compute.closed_ns + lane->communication.closed_ns
                      + lane->copies.closed_ns;
    fd_status status =
        fd_intervals_without(&lane->compute, &lane->communication, &alone);
    fd_then(status, fd_intervals_join(&work->compute, &alone));
    fd_then(status,
            fd_intervals_join(&work->communication, &lane->communication));
    fd_then(status, fd_intervals_join(&work->copies, &lane->copies));
    fd_intervals_clear(&alone);
    return status;
}

fd_status
fd_lanes_of_rank(fd_lanes *lanes, uint32_t rank, fd_rank_work *work)
{
    fd_status status = FD_OK;
    *work = (fd_rank_work){.busy = {.sorted = 0}};
    const struct {
        fd_intervals *to;
        const fd_intervals *from;
    } parts[] = {{&work->both, &work->compute},
                 {&work->both, &work->communication},
                 {&work->busy, &work->both},
                 {&work->busy, &work->copies}};
    for (uint32_t i = 0; i < lanes->list.count && status == FD_OK; i++) {
        if (lanes->list.list[i].rank == rank) {
            status = add_lane(lanes, &lanes->list.list[i], work);
        }
    }
    for (size_t i = 0; i < 4 && status == FD_OK; i++) {
        status = fd_intervals_join(parts[i].to, parts[i].from);
    }
    return status;
}

void
fd_rank_work_clear(fd_rank_work *work)
{
    fd_intervals_clear(&work->compute);
    fd_intervals_clear(&work->communication);
    fd_intervals_clear(&work->both);
    fd_intervals_clear(&work->busy);
    fd_intervals_clear(&work->copies);
}

fd_work_sums
fd_rank_work_within(const fd_rank_work *work, int64_t from, int64_t to)
{
    fd_work_sums sums = {
        .busy = fd_intervals_within(&work->busy, from, to),
        .compute = fd_intervals_within(&work->compute, from, to),
        .communication = fd_intervals_within(&work->communication, from, to),
        .copies = fd_intervals_within(&work->copies, from, to)};
    sums.exposed = fd_intervals_within(&work->both, from, to) - sums.compute;
    return sums;
}

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

/* Find the time in which at least one of the kinds in `set` ran. */
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
    *time = fd_intervals_within(&any, INT64_MIN, INT64_MAX);
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
    /* Time in which no kind outside a set runs is time in which only kinds of
     * the set run: subtract the times of its subsets. */
    for (uint32_t set = 1; set <= ALL; set++) {
        kinds->time[set] = any[ALL] - any[ALL ^ set];
        for (uint32_t part = 1; part < set; part++) {
            kinds->time[set] -= (part & set) == part ? kinds->time[part] : 0;
        }
    }
    return status;
}
