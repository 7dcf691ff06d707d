#include "events/tools/track_checks.h"

#include "base/budget.h"
#include "base/hash.h"
#include "events/slice_kinds.h"

#include <stdlib.h>
#include <string.h>

/* Kinds of records in addition to the phases B E X, s t f and b e. */
enum { POINT = '.', BEFORE_NEXT = '>' };

/* The open slices of one track. */
typedef struct open_slice {
    int64_t end; /* INT64_MAX: a B without a known end */
    uint64_t name;
    bool profiled;
    bool kernel;
    fd_fault_position position;
} open_slice;

typedef struct walk {
    FD_VECTOR(open_slice) open;
    bool any_closed;
    int64_t closed; /* end of the last closed slice */
    fd_faults *faults;
} walk;

void
fd_tracks_clear(fd_tracks *tracks)
{
    fd_vector_clear(&tracks->records);
    fd_map_clear(&tracks->cut);
}

void
fd_tracks_begin(fd_tracks *tracks)
{
    fd_map_clear(&tracks->cut);
    tracks->cut = (fd_map){.entries = NULL};
    tracks->records.count = 0;
    tracks->offered = 0;
}

static uint32_t
track_capacity(const fd_tracks *tracks)
{
    return tracks->most != 0 ? tracks->most
                             : (uint32_t)fd_budget(FD_TRACKS_RECORDS);
}

/* Add a record. The first pass collects all tracks until there are too many
 * records. */
static fd_status
add_record(fd_tracks *tracks, fd_track_record record)
{
    uint32_t passes = tracks->passes > 0 ? tracks->passes : 1;
    tracks->offered++;
    if ((record.track >> 32) % passes != tracks->pass) {
        return FD_OK;
    }
    if (tracks->records.count >= track_capacity(tracks)) {
        tracks->left_out += tracks->passes > 0;
        return tracks->passes > 0 ? fd_map_put(&tracks->cut, record.track, 1)
                                  : FD_OK;
    }
    return fd_vector_push(&tracks->records, record);
}

static uint64_t
mix_hash(uint64_t seed, fd_span value)
{
    fd_span text = fd_timeline_text(value);
    uint64_t hash =
        text.from == NULL ? 1 : fd_hash_bytes(text.from, fd_span_size(text));
    return fd_hash_next(seed, hash) | 1; /* never 0 */
}

static uint64_t
thread_track(const fd_timeline_event *event)
{
    return mix_hash(mix_hash(1, event->pid), event->tid);
}

fd_status
fd_tracks_add(fd_tracks *tracks, const fd_timeline_event *event,
              fd_fault_position position)
{
    char phase = event->phase;
    fd_track_record record = {.time = event->start,
                              .event = position.event,
                              .byte =
                                  position.byte & ((UINT64_C(1) << 54) - 1),
                              .what = (unsigned char)phase};
    if (!event->has_start || phase == 0) {
        return FD_OK;
    }
    if (phase == 'X' || phase == 'B' || phase == 'E') {
        record.track = thread_track(event);
        record.profiled = event->cat.from != NULL
                       && fd_timeline_is_profiled(fd_span_inside(event->cat));
        record.kernel =
            event->cat.from != NULL && fd_span_is(event->cat, "\"kernel\"");
        record.end =
            fd_timeline_named(event) ? (int64_t)mix_hash(0, event->name) : 0;
        if (phase == 'X'
            && (!event->has_duration || event->duration < 0
                || __builtin_add_overflow(event->start, event->duration,
                                          &record.end))) {
            return FD_OK;
        }
        return add_record(tracks, record);
    }
    fd_span id = fd_timeline_id(event);
    if (strchr("stf", phase) != NULL && id.from != NULL) {
        record.track =
            mix_hash(mix_hash(mix_hash(2, event->cat), event->name), id);
        fd_status status = add_record(tracks, record);
        record.track = thread_track(event);
        record.what = phase == 'f' && !event->encloses ? BEFORE_NEXT : POINT;
        return fd_then(status, add_record(tracks, record));
    }
    if (strchr("beSF", phase) != NULL && id.from != NULL) {
        bool local = event->local_id.from != NULL;
        uint64_t seed = local ? mix_hash(4, event->pid) : 3;
        record.track = mix_hash(mix_hash(seed, event->cat), id);
        record.what = phase == 'b' || phase == 'S' ? 'b' : 'e';
        return add_record(tracks, record);
    }
    return FD_OK;
}

FD_ORDER_BY(by_time, fd_track_record, track, time, event)

FD_ORDER_AS(longest_first, fd_track_record, FD_DOWN(end), FD_UP(event))

/* Order complete slices that begin at the same time by length, the longest
 * first: it encloses the others, as in Perfetto, whatever their order in the
 * file. */
static void
order_equal(fd_track_record *list, uint32_t count)
{
    for (uint32_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && list[i].what == 'X' && list[next].what == 'X'
               && list[next].track == list[i].track
               && list[next].time == list[i].time) {
            next++;
        }
        if (next - i > 1) {
            qsort(&list[i], next - i, sizeof *list, longest_first);
        }
    }
}

static void
close_top(walk *w, int64_t time)
{
    w->open.count--;
    w->closed = !w->any_closed || time > w->closed ? time : w->closed;
    w->any_closed = true;
}

static void
fault_overlap(walk *w, bool profiled, fd_fault_position position)
{
    fd_faults_add(w->faults,
                  profiled ? FD_FAULT_PROFILER_OVERLAP : FD_FAULT_OVERLAP,
                  position);
}

/* Close the complete slices that ended before `time`. */
static void
close_ended(walk *w, int64_t time)
{
    while (w->open.count > 0 && w->open.list[w->open.count - 1].end <= time) {
        close_top(w, w->open.list[w->open.count - 1].end);
    }
}

static fd_status
begin_slice(walk *w, const fd_track_record *record, fd_fault_position position)
{
    bool whole = record->what == 'X';
    open_slice slice = {whole ? record->end : INT64_MAX, (uint64_t)record->end,
                        record->profiled, record->kernel, position};
    close_ended(w, record->time);
    if (whole && w->open.count > 0
        && w->open.list[w->open.count - 1].end < record->end) {
        fault_overlap(w, record->profiled, position);
        return FD_OK;
    }
    if (slice.kernel && w->open.count > 0
        && w->open.list[w->open.count - 1].kernel) {
        fd_faults_add(w->faults, FD_FAULT_KERNEL_OVERLAP, position);
    }
    return fd_vector_push(&w->open, slice);
}

static void
end_slice(walk *w, const fd_track_record *record, fd_fault_position position)
{
    close_ended(w, record->time);
    uint32_t at = w->open.count;
    while (at > 0 && w->open.list[at - 1].end != INT64_MAX) {
        at--;
    }
    uint64_t name = (uint64_t)record->end;
    if (at == 0) {
        fd_faults_add(w->faults, FD_FAULT_END, position);
        return;
    }
    if (name != 0 && w->open.list[at - 1].name != 0
        && w->open.list[at - 1].name != name) {
        fd_faults_add(w->faults, FD_FAULT_END_NAME, position);
        return;
    }
    bool crosses = at < w->open.count; /* a complete slice still runs */
    for (uint32_t i = 0; i + 1 < at; i++) {
        crosses = crosses || w->open.list[i].end < record->time;
    }
    if (crosses) {
        fault_overlap(w, w->open.list[at - 1].profiled,
                      w->open.list[at - 1].position);
    }
    memmove(&w->open.list[at - 1], &w->open.list[at],
            (w->open.count - at) * sizeof *w->open.list);
    close_top(w, record->time);
}

/* Return whether a slice encloses a time, including its end. */
static bool
is_inside(walk *w, int64_t time)
{
    for (uint32_t i = w->open.count; i > 0; i--) {
        if (w->open.list[i - 1].end >= time) {
            return true;
        }
    }
    return w->any_closed && w->closed >= time;
}

static fd_fault_position
position_of(const fd_track_record *record)
{
    return (fd_fault_position){record->byte, record->event};
}

/* Return whether a slice begins at the same time in a later record. */
static bool
begins_at(const fd_track_record *list, uint32_t i, uint32_t count)
{
    int64_t time = list[i].time;
    for (; i < count && list[i].time == time; i++) {
        if (list[i].what == 'X' || list[i].what == 'B') {
            return true;
        }
    }
    return false;
}

static fd_status
walk_thread(walk *w, const fd_track_record *list, uint32_t count)
{
    fd_status status = FD_OK;
    uint32_t slices = 0; /* number of slices that begin at this time */
    for (uint32_t i = 0; i < count; i++) {
        slices += list[i].what == 'X' || list[i].what == 'B';
    }
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        fd_fault_position position = position_of(&list[i]);
        switch (list[i].what) {
        case 'X':
        case 'B':
            slices--;
            status = begin_slice(w, &list[i], position);
            break;
        case 'E':
            end_slice(w, &list[i], position);
            break;
        case POINT:
            if (!is_inside(w, list[i].time) && !begins_at(list, i, count)) {
                fd_faults_add(w->faults, FD_FAULT_FLOW_SLICE, position);
            }
            break;
        case BEFORE_NEXT:
            if (slices == 0) {
                fd_faults_add(w->faults, FD_FAULT_FLOW_SLICE, position);
            }
            break;
        default:
            break;
        }
    }
    for (uint32_t i = 0; i < w->open.count; i++) {
        if (w->open.list[i].end == INT64_MAX) {
            fd_faults_add(w->faults, FD_FAULT_BEGIN, w->open.list[i].position);
        }
    }
    return status;
}

static void
walk_flow(fd_faults *faults, const fd_track_record *list, uint32_t count)
{
    bool open = false;
    bool ended = false;
    fd_fault_position start = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        fd_fault_position position = position_of(&list[i]);
        if (list[i].what == 's') {
            if (open && !ended) {
                fd_faults_add(faults, FD_FAULT_FLOW_END, start);
            }
            open = true;
            ended = false;
            start = position;
        }
        else if (!open) {
            fd_faults_add(faults, FD_FAULT_FLOW_START, position);
        }
        else {
            ended = true;
            open = list[i].what != 'f';
        }
    }
    if (open && !ended) {
        fd_faults_add(faults, FD_FAULT_FLOW_END, start);
    }
}

static fd_status
walk_async(walk *w, const fd_track_record *list, uint32_t count)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        fd_fault_position position = position_of(&list[i]);
        if (list[i].what == 'b') {
            status =
                fd_vector_push(&w->open, (open_slice){.position = position});
        }
        else if (w->open.count > 0) {
            w->open.count--;
        }
        else {
            fd_faults_add(w->faults, FD_FAULT_ASYNC_END, position);
        }
    }
    for (uint32_t i = 0; i < w->open.count; i++) {
        fd_faults_add(w->faults, FD_FAULT_ASYNC_BEGIN,
                      w->open.list[i].position);
    }
    return status;
}

static fd_status
walk_track(walk *w, const fd_track_record *list, uint32_t count)
{
    w->open.count = 0;
    w->any_closed = false;
    switch (list->what) {
    case 's':
    case 't':
    case 'f':
        walk_flow(w->faults, list, count);
        return FD_OK;
    case 'b':
    case 'e':
        return walk_async(w, list, count);
    default:
        break;
    }
    return walk_thread(w, list, count);
}

fd_status
fd_tracks_end(fd_tracks *tracks, fd_faults *faults, bool *done)
{
    fd_track_record *list = tracks->records.list;
    uint32_t count = tracks->records.count;
    walk w = {.faults = faults};
    fd_status status = FD_OK;
    if (tracks->passes == 0 && tracks->offered > track_capacity(tracks)) {
        /* Parts have unequal sizes: plan with half of the capacity. */
        tracks->passes =
            (uint32_t)(2 * tracks->offered / track_capacity(tracks)) + 1;
        *done = false;
        return FD_OK;
    }
    if (count > 0) {
        qsort(list, count, sizeof *list, by_time);
        order_equal(list, count);
    }
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        for (next = i; next < count && list[next].track == list[i].track;) {
            next++;
        }
        if (fd_map_get(&tracks->cut, list[i].track) != 0) {
            tracks->left_out += next - i;
            continue;
        }
        status = walk_track(&w, &list[i], next - i);
    }
    fd_vector_clear(&w.open);
    *done = ++tracks->pass >= tracks->passes;
    return status;
}
