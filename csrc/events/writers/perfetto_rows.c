#include "events/writers/perfetto_rows.h"

#include "base/budget.h"
#include "events/writers/perfetto_fields.h"

#include <stdio.h>

#define OPEN INT64_MAX

static void
put_end(fd_perfetto_lanes *l, const fd_perfetto_lane *lane, int64_t time)
{
    fd_native_put_event(l->packets, FD_PB_TYPE_END, lane->track, time,
                        (fd_span){NULL, NULL});
}

static void
push_ending(fd_perfetto_lanes *l, fd_perfetto_ending one)
{
    fd_arena_push(l->arena, &l->endings, one);
    fd_perfetto_ending *heap = l->endings.list;
    uint32_t at = l->endings.count - 1;
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

void
fd_perfetto_lanes_until(fd_perfetto_lanes *l, int64_t time)
{
    while (l->endings.count > 0 && l->endings.list[0].end < time) {
        fd_perfetto_ending ending = pop_ending(l);
        fd_perfetto_lane *lane = &l->lanes.list[ending.lane];
        bool more = lane->written.count == 0 || !is_written(lane, ending.end);
        /* With the slice, those inside it that are still open end. */
        while (more && lane->open.count > 0) {
            more = lane->open.list[--lane->open.count].end == OPEN;
            lane->forced += more;
            l->counts->crossed += more;
            put_end(l, lane, ending.end);
        }
    }
}

/* Write the end of the innermost slice of a lane before its end is taken from
 * the heap. */
static void
end_now(fd_perfetto_lanes *l, fd_perfetto_lane *lane, int64_t time)
{
    int64_t end = lane->open.list[--lane->open.count].end;
    fd_arena_push(l->arena, &lane->written, end);
    put_end(l, lane, time);
}

/* End the slices that end at or before the start of another one. */
static void
end_until(fd_perfetto_lanes *l, fd_perfetto_lane *lane, int64_t time)
{
    while (lane->open.count > 0
           && lane->open.list[lane->open.count - 1].end <= time) {
        end_now(l, lane, time);
    }
}

static void
add_lane(fd_perfetto_lanes *l, uint32_t thread, uint32_t track)
{
    fd_arena_push(l->arena, &l->lanes, (fd_perfetto_lane){.track = track});
    fd_arena_push(l->arena, &l->threads.list[thread], l->lanes.count - 1);
}

void
fd_perfetto_lanes_thread(fd_perfetto_lanes *l, uint32_t track)
{
    fd_arena_push(l->arena, &l->threads, (fd_perfetto_numbers){NULL, 0, 0});
    add_lane(l, l->threads.count - 1, track);
}

/* Add a track below the track of the thread. */
static void
open_lane(fd_perfetto_lanes *l, uint32_t thread)
{
    const fd_perfetto_numbers *own = &l->threads.list[thread];
    uint32_t track = (*l->spare_track)++;
    char name[32];
    snprintf(name, sizeof name, "overlapping %u", (unsigned)own->count);
    const fd_native_field fields[] = {
        {FD_PB_TRACK_NAME, .text = fd_span_text(name)},
        {FD_PB_TRACK_PARENT, .number = l->lanes.list[own->list[0]].track}};
    fd_native_put_track(l->packets, track, 0, fields, 2);
    add_lane(l, thread, track);
}

static int64_t
limit_of(const fd_perfetto_lane *lane)
{
    uint32_t count = lane->open.count;
    return count == 0 ? OPEN : lane->open.list[count - 1].limit;
}

static void
begin_slice(fd_perfetto_lanes *l, fd_perfetto_lane *lane, int64_t begin,
            int64_t end, fd_span body)
{
    int64_t limit = limit_of(lane);
    fd_arena_push(l->arena, &lane->open,
                  (fd_perfetto_open){end, end < limit ? end : limit});
    fd_native_put_event(l->packets, FD_PB_TYPE_BEGIN, lane->track, begin,
                        body);
}

/* Put the slice in the first lane in which it nests within the open ones. */
void
fd_perfetto_slice(fd_perfetto_lanes *l, uint32_t thread, int64_t begin,
                  int64_t end, fd_span body)
{
    for (uint32_t i = 0;; i++) {
        if (i == l->threads.list[thread].count) {
            if (i >= fd_budget(FD_PERFETTO_LANES)) {
                l->counts->skipped++;
                return;
            }
            open_lane(l, thread);
        }
        uint32_t index = l->threads.list[thread].list[i];
        fd_perfetto_lane *lane = &l->lanes.list[index];
        end_until(l, lane, begin);
        if (limit_of(lane) >= end) {
            l->counts->aside += i > 0;
            push_ending(l, (fd_perfetto_ending){end, index});
            begin_slice(l, lane, begin, end, body);
            return;
        }
    }
}

void
fd_perfetto_begin(fd_perfetto_lanes *l, uint32_t thread, int64_t time,
                  fd_span body)
{
    fd_perfetto_lane *lane = &l->lanes.list[l->threads.list[thread].list[0]];
    end_until(l, lane, time);
    begin_slice(l, lane, time, OPEN, body);
}

void
fd_perfetto_end(fd_perfetto_lanes *l, uint32_t thread, int64_t time,
                fd_span body)
{
    fd_perfetto_lane *lane = &l->lanes.list[l->threads.list[thread].list[0]];
    uint32_t begun = lane->open.count;
    while (begun > 0 && lane->open.list[begun - 1].end != OPEN) {
        begun--;
    }
    if (begun == 0) {
        l->counts->alone += lane->forced == 0;
        lane->forced -= lane->forced > 0;
        return;
    }
    while (lane->open.count > begun) {
        l->counts->crossed += lane->open.list[lane->open.count - 1].end > time;
        end_now(l, lane, time);
    }
    lane->open.count--;
    fd_native_put_event(l->packets, FD_PB_TYPE_END, lane->track, time, body);
}
