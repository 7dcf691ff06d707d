#include "events/tools/trace_outline.h"

#include "base/budget.h"

#include <stdlib.h>
#include <string.h>

void
fd_timeline_outline_clear(fd_timeline_outline *outline)
{
    for (uint32_t i = 0; i < outline->ranks.count; i++) {
        fd_vector_clear(&outline->ranks.list[i].steps);
    }
    fd_timeline_slices_clear(&outline->slices);
    fd_vector_clear(&outline->processes);
    fd_vector_clear(&outline->steps);
    fd_vector_clear(&outline->ranks);
    fd_vector_clear(&outline->reported);
}

static fd_status
find_process(fd_timeline_outline *outline, fd_span pid, uint32_t *process)
{
    fd_status status =
        fd_timeline_slices_process(&outline->slices, pid, process);
    while (status == FD_OK && outline->processes.count <= *process) {
        status = fd_vector_push(&outline->processes,
                                (fd_timeline_process_facts){.number = 0});
    }
    return status;
}

static void
widen_span(fd_timeline_rank *sums, int64_t first, int64_t last)
{
    sums->first = !sums->any || first < sums->first ? first : sums->first;
    sums->last = !sums->any || last > sums->last ? last : sums->last;
    sums->any = true;
}

static fd_status
take_slice(fd_timeline_outline *outline, const fd_slice *slice)
{
    fd_timeline_rank *sums = &outline->processes.list[slice->process].sums;
    bool gpu = (slice->kind & FD_IS_GPU_STEP) != 0;
    uint32_t both = FD_IS_KERNEL | FD_IS_COLLECTIVE;
    sums->kinds |= slice->kind;
    sums->kinds |= (slice->kind & both) == both ? FD_HAS_GPU_COLLECTIVES : 0;
    if ((slice->kind & FD_IS_AROUND) == 0) {
        widen_span(sums, slice->start, slice->end);
    }
    if ((slice->kind & (FD_IS_STEP | FD_IS_GPU_STEP)) == 0) {
        return FD_OK;
    }
    if (outline->steps.count >= fd_budget(FD_OUTLINE_STEPS)) {
        outline->steps_lost++;
        return FD_OK;
    }
    return fd_vector_push(&outline->steps,
                          (fd_timeline_step){slice->step, slice->start,
                                             slice->end, slice->process, gpu});
}

fd_status
fd_timeline_outline_event(fd_timeline_outline *outline,
                          const fd_timeline_event *event,
                          const fd_clock_map *clock)
{
    uint32_t process;
    uint64_t number;
    fd_slice slice;
    bool whole = false;
    fd_status status = find_process(outline, event->pid, &process);
    if (status != FD_OK) {
        return status;
    }
    fd_timeline_process_facts *of = &outline->processes.list[process];
    if (event->phase == 'M') {
        fd_span name = fd_timeline_argument_text(event, "name");
        if (name.from != NULL && fd_span_is(event->name, "\"process_name\"")
            && fd_span_numbered(name, "rank ", " ", &number)
            && number < FD_TIMELINE_RANKS) {
            of->named = true;
            of->number = (uint32_t)number;
        }
        return FD_OK;
    }
    of->sums.events++;
    if ((event->phase == 'i' || event->phase == 'I')
        && fd_timeline_named(event)
        && fd_span_numbered(fd_span_inside(event->name), "", " ", &number)
        && memmem(event->name.from, fd_span_size(event->name),
                  " events found no room", 21)
               != NULL) {
        of->sums.calls_lost += number;
    }
    status = fd_timeline_slices_take(&outline->slices, event, &slice, &whole);
    if (status != FD_OK || !whole) {
        return status;
    }
    fd_slice_move(&slice, clock);
    return take_slice(outline, &slice);
}

/* Read "ranks", the table of a merge with the losses of each input. */
fd_status
fd_timeline_outline_member(fd_timeline_outline *outline, fd_span key,
                           fd_span value)
{
    fd_scan scan = {.at = value.from, .end = value.to, .forgets = true};
    fd_span row;
    fd_status status = FD_OK;
    if (!fd_span_is(key, "ranks") || fd_scan_mark(&scan, '[') != FD_SCAN_OK) {
        return FD_OK;
    }
    for (bool first = true;
         status == FD_OK && fd_scan_element(&scan, first, &row) == FD_SCAN_OK;
         first = false) {
        fd_span found;
        uint64_t rank;
        uint64_t lost;
        if (fd_scan_find(row, "rank", &found) && fd_span_u64(found, &rank)
            && rank < FD_TIMELINE_RANKS && fd_scan_find(row, "lost", &found)
            && fd_span_u64(found, &lost) && lost > 0) {
            status = fd_vector_push(&outline->reported,
                                    (fd_timeline_rank){.rank = (uint32_t)rank,
                                                       .places_lost = lost});
        }
    }
    return status;
}

FD_ORDER_BY(by_rank, fd_timeline_rank, rank)

static fd_timeline_rank *
find_rank(const fd_timeline_outline *outline, uint32_t rank)
{
    fd_timeline_rank key = {.rank = rank};
    return outline->ranks.count == 0
             ? NULL
             : bsearch(&key, outline->ranks.list, outline->ranks.count,
                       sizeof key, by_rank);
}

/* Set the rank of every process that has events. */
static fd_status
make_ranks(fd_timeline_outline *outline, uint32_t rank)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < outline->processes.count && status == FD_OK;
         i++) {
        fd_timeline_process_facts *process = &outline->processes.list[i];
        process->number = process->named ? process->number : rank;
        if (process->sums.any) {
            status = fd_vector_push(
                &outline->ranks, (fd_timeline_rank){.rank = process->number});
        }
    }
    if (status == FD_OK && outline->ranks.count > 0) {
        uint32_t kept = 0;
        fd_timeline_rank *list = outline->ranks.list;
        qsort(list, outline->ranks.count, sizeof *list, by_rank);
        for (uint32_t i = 0; i < outline->ranks.count; i++) {
            if (kept == 0 || list[kept - 1].rank != list[i].rank) {
                list[kept++] = list[i];
            }
        }
        outline->ranks.count = kept;
    }
    return status;
}

static void
add_sums(fd_timeline_outline *outline)
{
    for (uint32_t i = 0; i < outline->processes.count; i++) {
        fd_timeline_process_facts *process = &outline->processes.list[i];
        fd_timeline_rank *rank = find_rank(outline, process->number);
        const fd_timeline_rank *sums = &process->sums;
        if (rank == NULL) {
            continue;
        }
        process->rank = (uint32_t)(rank - outline->ranks.list);
        rank->kinds |= sums->kinds;
        if (rank->steps_of == 0 && (sums->kinds & FD_IS_STEP) != 0) {
            rank->steps_of = i + 1;
        }
        if (rank->jobs_of == 0 && (sums->kinds & FD_IS_JOB) != 0) {
            rank->jobs_of = i + 1;
        }
        rank->events += sums->events;
        rank->calls_lost += sums->calls_lost;
        if (sums->any) {
            widen_span(rank, sums->first, sums->last);
        }
    }
    for (uint32_t i = 0; i < outline->reported.count; i++) {
        fd_timeline_rank *rank =
            find_rank(outline, outline->reported.list[i].rank);
        if (rank != NULL) {
            rank->places_lost += outline->reported.list[i].places_lost;
        }
    }
}

FD_ORDER_BY(by_number, fd_timeline_step, number, start)

FD_ORDER_BY(by_start, fd_timeline_step, start, number)

/* Make steps disjoint: one per number, from its first start to its last end,
 * at most until the start of the next. */
static void
tidy_steps(fd_timeline_rank *rank)
{
    fd_timeline_step *list = rank->steps.list;
    uint32_t kept = 0;
    if (rank->steps.count == 0) {
        return;
    }
    qsort(list, rank->steps.count, sizeof *list, by_number);
    for (uint32_t i = 0; i < rank->steps.count; i++) {
        if (kept > 0 && list[kept - 1].number == list[i].number) {
            int64_t end = list[i].end;
            list[kept - 1].end =
                end > list[kept - 1].end ? end : list[kept - 1].end;
        }
        else {
            list[kept++] = list[i];
        }
    }
    rank->steps.count = kept;
    qsort(list, kept, sizeof *list, by_start);
    for (uint32_t i = 0; i + 1 < kept; i++) {
        int64_t next = list[i + 1].start;
        list[i].end = list[i].end > next ? next : list[i].end;
    }
}

/* Select the steps of each rank. With GPU work, use the steps on the GPU,
 * because the host runs ahead of it; otherwise those of one process, because
 * another program may number steps differently. */
static fd_status
share_steps(fd_timeline_outline *outline)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < outline->steps.count && status == FD_OK; i++) {
        const fd_timeline_step *step = &outline->steps.list[i];
        uint32_t index = outline->processes.list[step->process].rank;
        fd_timeline_rank *rank = &outline->ranks.list[index];
        bool counts = (rank->kinds & FD_IS_GPU_STEP) != 0
                        ? step->gpu
                        : step->process + 1 == rank->steps_of;
        if (counts) {
            status = fd_vector_push(&rank->steps, *step);
        }
    }
    for (uint32_t i = 0; i < outline->ranks.count; i++) {
        tidy_steps(&outline->ranks.list[i]);
    }
    return status;
}

void
fd_timeline_outline_next(fd_timeline_outline *outline)
{
    fd_timeline_slices_next(&outline->slices);
}

fd_status
fd_timeline_outline_finish(fd_timeline_outline *outline, uint32_t rank)
{
    fd_status status = make_ranks(outline, rank);
    if (status == FD_OK) {
        add_sums(outline);
        status = share_steps(outline);
    }
    return status;
}
