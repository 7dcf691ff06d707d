#include "events/tools/overlap_count.h"

#include "base/budget.h"

#include <string.h>

enum { MOST_OPEN = 1 << 12 /* per thread */ };

void
fd_overlaps_clear(fd_overlaps *overlaps)
{
    for (uint32_t i = 0; i < overlaps->threads.count; i++) {
        fd_vector_clear(&overlaps->threads.list[i]);
    }
    fd_vector_clear(&overlaps->threads);
    *overlaps = (fd_overlaps){.count = 0};
}

/* Return the position of a slice among the open ones. Of slices that begin at
 * the same time, the longest is the outermost. */
static uint32_t
index_of(const fd_overlap_thread *open, fd_overlap_slice slice)
{
    uint32_t index = open->count;
    while (index > 0 && open->list[index - 1].start == slice.start
           && open->list[index - 1].end < slice.end) {
        index--;
    }
    return index;
}

static fd_status
insert_slice(fd_overlap_thread *open, uint32_t index, fd_overlap_slice slice)
{
    if (open->count >= fd_budget(MOST_OPEN)) {
        return FD_OK;
    }
    fd_status status = fd_vector_push(open, slice);
    if (status == FD_OK && index + 1 < open->count) {
        memmove(&open->list[index + 1], &open->list[index],
                (open->count - 1 - index) * sizeof slice);
        open->list[index] = slice;
    }
    return status;
}

static fd_status
add_slice(fd_overlaps *overlaps, fd_overlap_thread *open,
          fd_overlap_slice slice)
{
    if (open->count > 0 && slice.start < open->list[open->count - 1].start) {
        open->count = 0; /* an earlier time: start again */
    }
    while (open->count > 0 && open->list[open->count - 1].end <= slice.start) {
        open->count--;
    }
    uint32_t index = index_of(open, slice);
    if (index > 0 && open->list[index - 1].end < slice.end) {
        overlaps->count++;
        return FD_OK;
    }
    return insert_slice(open, index, slice);
}

fd_status
fd_overlaps_add(fd_overlaps *overlaps, const fd_timeline_event *event,
                uint32_t thread)
{
    fd_overlap_slice slice;
    if (event->tid.from == NULL
        || !fd_timeline_interval(event, &slice.start, &slice.end)) {
        return FD_OK;
    }
    while (overlaps->threads.count <= thread) {
        fd_overlap_thread made = {.count = 0};
        fd_status status = fd_vector_push(&overlaps->threads, made);
        if (status != FD_OK) {
            return status;
        }
    }
    return add_slice(overlaps, &overlaps->threads.list[thread], slice);
}
