#include "events/tools/trace_outline.h"

#include "base/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST_STEP = 1000 /* ns */ };

void
fd_timeline_outline_clear(fd_timeline_outline *outline)
{
    for (uint32_t i = 0; i < outline->ranks.count; i++) {
        fd_vector_clear(&outline->ranks.list[i].steps);
        fd_vector_clear(&outline->ranks.list[i].gpu_steps);
    }
    fd_vector_clear(&outline->ranges);
    fd_text_pool_clear(&outline->range_names);
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

/* Add a range that may be a step. Its name ends in a number, or not. */
static fd_status
take_range(fd_timeline_outline *outline, const fd_slice *slice)
{
    fd_span name = fd_text_pool_span(&outline->slices.texts, slice->name);
    fd_span base = fd_timeline_job_type(name);
    uint64_t number;
    uint32_t id;
    bool numbered =
        fd_span_size(base) < fd_span_size(name)
        && fd_span_u64((fd_span){fd_timeline_number_in(name), name.to},
                       &number)
        && number <= INT64_MAX;
    if (outline->steps.count > 0
        || outline->ranges.count >= fd_budget(FD_OUTLINE_STEPS)) {
        return FD_OK;
    }
    fd_status status = fd_text_pool_add(&outline->range_names, base.from,
                                        fd_span_size(base), &id);
    fd_timeline_range range = {.name = id,
                               .thread = slice->thread,
                               .process = slice->process,
                               .optimizer =
                                   (slice->kind & FD_IS_OPTIMIZER) != 0,
                               .number = numbered ? (int64_t)number : -1,
                               .start = slice->start,
                               .end = slice->end};
    return fd_then(status, fd_vector_push(&outline->ranges, range));
}

bool
fd_timeline_outline_skips(const fd_timeline_outline *outline,
                          const fd_slice *slice)
{
    return outline->has_window
        && (slice->start < outline->from || slice->end > outline->to);
}

bool
fd_timeline_outline_again(fd_timeline_outline *outline)
{
    uint32_t early;
    uint32_t late;
    if (outline->has_window
        || !fd_stray_times_find(&outline->times, &early, &late)) {
        return false;
    }
    const fd_time_cluster *list = outline->times.list;
    int64_t from = list[early].from;
    int64_t to = list[outline->times.used - late - 1].to;
    fd_timeline_outline_clear(outline);
    *outline =
        (fd_timeline_outline){.has_window = true, .from = from, .to = to};
    return true;
}

static fd_status
take_slice(fd_timeline_outline *outline, const fd_slice *slice)
{
    if (fd_timeline_outline_skips(outline, slice)) {
        return FD_OK;
    }
    fd_timeline_rank *sums = &outline->processes.list[slice->process].sums;
    bool gpu = (slice->kind & FD_IS_GPU_STEP) != 0;
    uint32_t both = FD_IS_KERNEL | FD_IS_COLLECTIVE;
    sums->kinds |= slice->kind;
    sums->kinds |= (slice->kind & both) == both ? FD_HAS_GPU_COLLECTIVES : 0;
    if ((slice->kind & FD_IS_AROUND) == 0) {
        widen_span(sums, slice->start, slice->end);
        fd_stray_times_add(&outline->times, slice->start, slice->end,
                           (fd_event_place){0, 0});
    }
    if (slice->kind & (FD_IS_OPTIMIZER | FD_IS_RANGE)) {
        return take_range(outline, slice);
    }
    if ((slice->kind & (FD_IS_STEP | FD_IS_GPU_STEP)) == 0) {
        return FD_OK;
    }
    if (outline->steps.count >= fd_budget(FD_OUTLINE_STEPS)) {
        outline->steps_lost++;
        return FD_OK;
    }
    fd_timeline_step step = {.number = slice->step,
                             .start = slice->start,
                             .end = slice->end,
                             .process = slice->process,
                             .gpu = gpu};
    return fd_vector_push(&outline->steps, step);
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

fd_timeline_rank *
fd_timeline_outline_rank(const fd_timeline_outline *outline, uint32_t rank)
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
        fd_timeline_rank *rank =
            fd_timeline_outline_rank(outline, process->number);
        const fd_timeline_rank *sums = &process->sums;
        if (rank == NULL) {
            continue;
        }
        process->rank = (uint32_t)(rank - outline->ranks.list);
        rank->kinds |= sums->kinds;
        rank->stepping +=
            outline->files <= 1 && (sums->kinds & FD_IS_STEP) != 0;
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
            fd_timeline_outline_rank(outline, outline->reported.list[i].rank);
        if (rank != NULL) {
            rank->places_lost += outline->reported.list[i].places_lost;
        }
    }
}

/* Make steps of the ranges of a rank that has none. */
static fd_status
steps_from_ranges(fd_timeline_outline *outline, fd_timeline_rank *rank,
                  fd_timeline_range *list, uint32_t count)
{
    const fd_timeline_range *chosen;
    fd_status status = fd_timeline_steps_from_ranges(list, count, rank->first,
                                                     &rank->steps, &chosen);
    if (status != FD_OK || chosen == NULL) {
        return status;
    }
    fd_span name = fd_text_pool_span(&outline->range_names, chosen->name);
    snprintf(rank->steps_of_name, sizeof rank->steps_of_name, "%.*s",
             (int)(fd_span_size(name) < FD_OUTLINE_NAME ? fd_span_size(name)
                                                        : FD_OUTLINE_NAME),
             name.from);
    rank->steps_end_there = chosen->optimizer;
    rank->steps_of = chosen->process + 1;
    return FD_OK;
}

static fd_status
find_ranges(fd_timeline_outline *outline)
{
    fd_timeline_range *list = outline->ranges.list;
    uint32_t count = outline->ranges.count;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count; i++) {
        list[i].rank = outline->processes.list[list[i].process].rank;
    }
    fd_timeline_ranges_sort(list, count);
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        for (next = i + 1; next < count && list[next].rank == list[i].rank;
             next++) {
        }
        fd_timeline_rank *rank = &outline->ranks.list[list[i].rank];
        if (rank->steps.count + rank->gpu_steps.count == 0) {
            status = steps_from_ranges(outline, rank, &list[i], next - i);
        }
    }
    return status;
}

/* Add a step. One of at most 1 us was open when the trace ended, or has no end for
 * another reason: it lasts until the next one or the last slice of its
 * process. */
static fd_status
share_step(fd_timeline_outline *outline, fd_timeline_step step)
{
    const fd_timeline_process_facts *of =
        &outline->processes.list[step.process];
    fd_timeline_rank *rank = &outline->ranks.list[of->rank];
    if (step.gpu) {
        return fd_vector_push(&rank->gpu_steps, step);
    }
    if (step.process + 1 != rank->steps_of) {
        return FD_OK; /* another program may number steps differently */
    }
    if (step.end - step.start <= SHORTEST_STEP) {
        rank->open_steps++;
        step.open = true;
        step.end = of->sums.last;
    }
    return fd_vector_push(&rank->steps, step);
}

static fd_status
share_steps(fd_timeline_outline *outline)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < outline->steps.count && status == FD_OK; i++) {
        status = share_step(outline, outline->steps.list[i]);
    }
    for (uint32_t i = 0; i < outline->ranks.count; i++) {
        fd_timeline_steps_tidy(&outline->ranks.list[i].steps);
        fd_timeline_steps_tidy(&outline->ranks.list[i].gpu_steps);
    }
    return fd_then(status, find_ranges(outline));
}

void
fd_timeline_outline_next(fd_timeline_outline *outline)
{
    outline->files++;
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
