#include "events/tools/training_steps.h"

#include <stdlib.h>

FD_ORDER_BY(by_number, fd_timeline_step, gpu, number, start)

FD_ORDER_BY(by_start, fd_timeline_step, start, number)

FD_ORDER_BY(by_group, fd_timeline_range, rank, name, thread, start)

/* Join steps on several streams of a GPU, and copies of a step on several
 * threads. Other steps with the same number are different ones. */
static uint32_t
join_steps(fd_timeline_step *list, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        fd_timeline_step *last = kept > 0 ? &list[kept - 1] : NULL;
        if (last != NULL && last->number == list[i].number
            && (last->gpu || (!last->open && list[i].start < last->end))) {
            last->end = list[i].end > last->end ? list[i].end : last->end;
        }
        else {
            list[kept++] = list[i];
        }
    }
    return kept;
}

void
fd_timeline_steps_tidy(fd_timeline_step_list *steps)
{
    fd_timeline_step *list = steps->list;
    if (steps->count == 0) {
        return;
    }
    qsort(list, steps->count, sizeof *list, by_number);
    steps->count = join_steps(list, steps->count);
    qsort(list, steps->count, sizeof *list, by_start);
    for (uint32_t i = 0; i + 1 < steps->count; i++) {
        int64_t next = list[i + 1].start;
        list[i].end = list[i].end > next ? next : list[i].end;
    }
}

void
fd_timeline_ranges_sort(fd_timeline_range *list, uint32_t count)
{
    if (count > 0) {
        qsort(list, count, sizeof *list, by_group);
    }
}

/* Join steps of optimizers that directly follow each other, as those of several
 * parameter groups: after a pause that is shorter than the step before, and in
 * less than half of the mean distance. Return the number of joined ranges. */
static uint32_t
join_optimizers(fd_timeline_range *list, uint32_t count)
{
    int64_t half = (list[count - 1].end - list->start) / count / 2;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        fd_timeline_range *last = kept > 0 ? &list[kept - 1] : NULL;
        if (last != NULL && list[i].start - last->end < last->end - last->start
            && list[i].start - last->start < half) {
            last->end = list[i].end;
        }
        else {
            list[kept++] = list[i];
        }
    }
    return kept;
}

/* Return whether ranges follow each other without overlaps, and fill most of
 * the time. */
static bool
are_steps(const fd_timeline_range *list, uint32_t count)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += list[i].end - list[i].start;
        if (i > 0 && list[i].start < list[i - 1].end) {
            return false;
        }
    }
    int64_t span = list[count - 1].end - list[0].start;
    return count > 1
        && (list->optimizer || (sum > 0 && span - sum <= span / 4));
}

/* Return whether a group of ranges is better than the best one so far. An
 * optimizer ends an iteration; with several, the rarest one. */
static bool
is_better(const fd_timeline_range *list, uint32_t count,
          const fd_timeline_range *best, uint32_t best_count)
{
    if (best == NULL || list->optimizer != best->optimizer) {
        return best == NULL || list->optimizer;
    }
    int64_t span = list[count - 1].end - list->start;
    int64_t best_span = best[best_count - 1].end - best->start;
    return list->optimizer ? count < best_count : span > best_span;
}

fd_status
fd_timeline_steps_from_ranges(fd_timeline_range *list, uint32_t count,
                              int64_t first, fd_timeline_step_list *steps,
                              const fd_timeline_range **chosen)
{
    uint32_t best_count = 0;
    fd_status status = FD_OK;
    *chosen = NULL;
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && list[next].name == list[i].name
                           && list[next].thread == list[i].thread;
             next++) {
        }
        uint32_t joined =
            list[i].optimizer ? join_optimizers(&list[i], next - i) : next - i;
        if (are_steps(&list[i], joined)
            && is_better(&list[i], joined, *chosen, best_count)) {
            *chosen = &list[i];
            best_count = joined;
        }
    }
    for (uint32_t i = 0; i < best_count && status == FD_OK; i++) {
        const fd_timeline_range *at = &(*chosen)[i];
        fd_timeline_step step = {.number = at->number >= 0 ? at->number : i,
                                 .start = at->start,
                                 .end = at->end,
                                 .process = at->process};
        if (at->optimizer) {
            step.start = i > 0 ? at[-1].end : first;
        }
        status = fd_vector_push(steps, step);
    }
    fd_timeline_steps_tidy(steps);
    return status;
}
