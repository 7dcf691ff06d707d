#include "events/writers/perfetto_rows.h"

#include "base/budget.h"
#include "events/writers/perfetto_fields.h"

#include <stdbool.h>
#include <stdio.h>

#define OPEN INT64_MAX

void
fd_perfetto_lanes_clear(fd_perfetto_lanes *l)
{
    for (uint32_t i = 0; i < l->lanes.count; i++) {
        fd_vector_clear(&l->lanes.list[i].open);
        fd_vector_clear(&l->lanes.list[i].written);
    }
    for (uint32_t i = 0; i < l->threads.count; i++) {
        fd_vector_clear(&l->threads.list[i]);
    }
    fd_vector_clear(&l->lanes);
    fd_vector_clear(&l->threads);
    fd_vector_clear(&l->endings);
}

static fd_status
put_lane_event(fd_perfetto_lanes *l, uint32_t track, uint32_t type,
               int64_t time, const void *body, size_t size)
{
    fd_native_put_event(l->packets, type, track, time, body, size);
    return l->packets->to->status;
}

static void
sift_up(fd_perfetto_lanes *l, uint32_t at)
{
    fd_perfetto_ending *heap = l->endings.list;
    fd_perfetto_ending one = heap[at];
    while (at > 0 && heap[(at - 1) / 2].end > one.end) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = one;
}

static fd_perfetto_ending
pop_ending(fd_perfetto_lanes *l)
{
    fd_perfetto_ending *heap = l->endings.list;
    fd_perfetto_ending first = heap[0];
    fd_perfetto_ending one = heap[--l->endings.count];
    uint32_t at = 0;
    for (uint32_t next = 1; next < l->endings.count; next = 2 * at + 1) {
        next +=
            next + 1 < l->endings.count && heap[next + 1].end < heap[next].end;
        if (heap[next].end >= one.end) {
            break;
        }
        heap[at] = heap[next];
        at = next;
    }
    heap[at] = one;
    return first;
}

/* Return whether the end in the heap was already written, and forget it. */
static bool
is_written(fd_perfetto_lane *lane, int64_t end)
{
    for (uint32_t i = 0; i < lane->written.count; i++) {
        if (lane->written.list[i] == end) {
            lane->written.list[i] = lane->written.list[--lane->written.count];
            return true;
        }
    }
    return false;
}

/* End a slice, and all slices inside it that are still open. */
static fd_status
end_slice(fd_perfetto_lanes *l, fd_perfetto_lane *lane, int64_t end)
{
    fd_status status = FD_OK;
    bool forced = true;
    while (status == FD_OK && forced && lane->open.count > 0) {
        forced = lane->open.list[--lane->open.count].end == OPEN;
        lane->forced += forced;
        l->crossed += forced;
        status = put_lane_event(l, lane->track, FD_PB_TYPE_END, end, NULL, 0);
    }
    return status;
}

/* Write all ends before `time`. */
static fd_status
end_before(fd_perfetto_lanes *l, int64_t time)
{
    fd_status status = FD_OK;
    while (l->endings.count > 0 && l->endings.list[0].end < time
           && status == FD_OK) {
        fd_perfetto_ending ending = pop_ending(l);
        fd_perfetto_lane *lane = &l->lanes.list[ending.lane];
        if (lane->written.count == 0 || !is_written(lane, ending.end)) {
            status = end_slice(l, lane, ending.end);
        }
    }
    return status;
}

/* Write the end of the innermost slice of a lane before its end is taken from
 * the heap. */
static fd_status
end_now(fd_perfetto_lanes *l, fd_perfetto_lane *lane, int64_t time)
{
    int64_t end = lane->open.list[--lane->open.count].end;
    fd_status status = fd_vector_push(&lane->written, end);
    return fd_then(
        status, put_lane_event(l, lane->track, FD_PB_TYPE_END, time, NULL, 0));
}

/* End the slices that end at or before the start of another one. */
static fd_status
end_until(fd_perfetto_lanes *l, fd_perfetto_lane *lane, int64_t time)
{
    fd_status status = FD_OK;
    while (status == FD_OK && lane->open.count > 0
           && lane->open.list[lane->open.count - 1].end <= time) {
        status = end_now(l, lane, time);
    }
    return status;
}

static fd_status
add_lane(fd_perfetto_lanes *l, uint32_t thread, uint32_t track)
{
    fd_perfetto_numbers *own = &l->threads.list[thread];
    fd_status status =
        fd_vector_push(&l->lanes, (fd_perfetto_lane){.track = track});
    return fd_then(status, fd_vector_push(own, l->lanes.count - 1));
}

fd_status
fd_perfetto_lanes_thread(fd_perfetto_lanes *l, uint32_t track)
{
    fd_status status =
        fd_vector_push(&l->threads, (fd_perfetto_numbers){NULL, 0, 0});
    return fd_then(status, add_lane(l, l->threads.count - 1, track));
}

/* Add a track below the track of the thread. */
static fd_status
open_lane(fd_perfetto_lanes *l, uint32_t thread)
{
    fd_perfetto_numbers *own = &l->threads.list[thread];
    uint32_t number = (*l->spare_track)++;
    char name[32];
    snprintf(name, sizeof name, "overlapping %u", (unsigned)own->count);
    fd_native_put_track(l->packets, number, l->lanes.list[own->list[0]].track,
                        name, false);
    return add_lane(l, thread, number);
}

static int64_t
limit_of(const fd_perfetto_lane *lane)
{
    uint32_t count = lane->open.count;
    return count == 0 ? OPEN : lane->open.list[count - 1].limit;
}

static fd_status
push_end(fd_perfetto_lane *lane, int64_t end)
{
    int64_t limit = limit_of(lane);
    return fd_vector_push(&lane->open,
                          (fd_perfetto_open){end, end < limit ? end : limit});
}

/* Find the first lane in which the slice nests within the open ones. */
static fd_status
find_lane(fd_perfetto_lanes *l, uint32_t thread, int64_t begin, int64_t end,
          uint32_t *found)
{
    for (uint32_t i = 0;; i++) {
        if (i == l->threads.list[thread].count) {
            fd_status status = i < fd_budget(FD_PERFETTO_LANES)
                                 ? open_lane(l, thread)
                                 : FD_EFULL;
            if (status != FD_OK) {
                return status;
            }
        }
        *found = l->threads.list[thread].list[i];
        fd_perfetto_lane *lane = &l->lanes.list[*found];
        fd_status status = end_until(l, lane, begin);
        if (status != FD_OK || limit_of(lane) >= end) {
            l->aside += i > 0;
            return status;
        }
    }
}

fd_status
fd_perfetto_slice(fd_perfetto_lanes *l, uint32_t thread, int64_t begin,
                  int64_t end, const void *body, size_t size)
{
    uint32_t index;
    fd_status status = end_before(l, begin);
    fd_then(status, find_lane(l, thread, begin, end, &index));
    if (status != FD_OK) {
        return status;
    }
    fd_perfetto_lane *lane = &l->lanes.list[index];
    if (push_end(lane, end) != FD_OK
        || fd_vector_push(&l->endings, (fd_perfetto_ending){end, index})
               != FD_OK) {
        return FD_ENOMEM;
    }
    sift_up(l, l->endings.count - 1);
    return put_lane_event(l, lane->track, FD_PB_TYPE_BEGIN, begin, body, size);
}

fd_status
fd_perfetto_begin(fd_perfetto_lanes *l, uint32_t thread, int64_t time,
                  const void *body, size_t size)
{
    fd_status status = end_before(l, time);
    fd_perfetto_lane *lane = &l->lanes.list[l->threads.list[thread].list[0]];
    fd_then(status, end_until(l, lane, time));
    fd_then(status, push_end(lane, OPEN));
    return fd_then(status, put_lane_event(l, lane->track, FD_PB_TYPE_BEGIN,
                                          time, body, size));
}

fd_status
fd_perfetto_end(fd_perfetto_lanes *l, uint32_t thread, int64_t time,
                const void *body, size_t size)
{
    fd_status status = end_before(l, time);
    fd_perfetto_lane *lane = &l->lanes.list[l->threads.list[thread].list[0]];
    uint32_t begun = lane->open.count;
    while (begun > 0 && lane->open.list[begun - 1].end != OPEN) {
        begun--;
    }
    if (begun == 0) {
        l->alone += lane->forced == 0;
        lane->forced -= lane->forced > 0;
        return status;
    }
    while (status == FD_OK && lane->open.count > begun) {
        l->crossed += lane->open.list[lane->open.count - 1].end > time;
        status = end_now(l, lane, time);
    }
    lane->open.count -= status == FD_OK;
    return fd_then(status, put_lane_event(l, lane->track, FD_PB_TYPE_END, time,
                                          body, size));
}

fd_status
fd_perfetto_mark(fd_perfetto_lanes *l, uint32_t track, uint32_t type,
                 int64_t time, const void *body, size_t size)
{
    fd_status status = end_before(l, time);
    return fd_then(status, put_lane_event(l, track, type, time, body, size));
}

fd_status
fd_perfetto_finish(fd_perfetto_lanes *l)
{
    return end_before(l, OPEN);
}
