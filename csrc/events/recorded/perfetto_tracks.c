#include "events/recorded/perfetto_tracks.h"

#include "events/recorded/perfetto_fields.h"
#include "events/recorded/side_tracks.h"
#include "streams/protobuf.h"

#include <stdio.h>

typedef struct writer {
    const fd_perfetto_tracks *tracks;
    fd_native_packets packets; /* of the current track */
    uint32_t counters;         /* number of counters so far */
} writer;

static void
begin_track(writer *w, uint32_t track, const char *name, bool counts)
{
    fd_native_begin(&w->packets, w->tracks->sequences + track, track);
    fd_native_begin_clock(&w->packets, w->tracks->clock, 0);
    fd_native_put_track(&w->packets, track, w->tracks->parent, name, counts);
}

static void
put_slice(writer *w, const char *category, const char *name, uint64_t start,
          uint64_t end)
{
    fd_native_packets *p = &w->packets;
    fd_proto_text(&p->body, FD_PB_EVENT_CATEGORY, category);
    fd_proto_text(&p->body, FD_PB_EVENT_NAME, name);
    fd_native_put_body(p, FD_PB_TYPE_BEGIN, (int64_t)start);
    fd_native_put_body(p, FD_PB_TYPE_END, (int64_t)end);
}

static int
by_start(const void *left, const void *right)
{
    const fd_trace_event *a = *(const fd_trace_event *const *)left;
    const fd_trace_event *b = *(const fd_trace_event *const *)right;
    return FD_ORDER(a->start, b->start);
}

typedef FD_VECTOR(const fd_trace_event *) event_list;

/* Collect the events of a kind on all threads, sorted by time. */
static fd_status
collect(const fd_trace_rank *rank, uint32_t kind, event_list *list)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < rank->events.count && status == FD_OK; i++) {
        const fd_trace_event *event = &rank->events.list[i];
        if (event->kind == kind) {
            status = fd_vector_push(list, event);
        }
    }
    fd_vector_sort(list, by_start);
    return status;
}

static fd_status
write_steps(writer *w)
{
    event_list list = {NULL, 0, 0};
    fd_status status = collect(w->tracks->rank, FD_EVENT_STEP, &list);
    if (status == FD_OK && list.count > 0) {
        begin_track(w, w->tracks->steps, "Steps", false);
    }
    for (uint32_t i = 0; i < list.count && status == FD_OK; i++) {
        const fd_trace_event *event = list.list[i];
        char name[32];
        snprintf(name, sizeof name, "step %u", event->context);
        put_slice(w, "step", name, event->start,
                  event->start + event->duration);
    }
    fd_vector_clear(&list);
    return status;
}

typedef struct lane {
    uint64_t free; /* end of the last slice of the lane */
    fd_perfetto_ticks ticks;
} lane;

typedef FD_VECTOR(lane) lane_list;

/* Write an asynchronous event to the first free lane, so that events that
 * overlap are in different lanes. */
static fd_status
write_async(writer *w, const fd_trace_event *event, lane_list *lanes)
{
    uint32_t index = 0;
    uint64_t end = event->start + event->duration;
    while (index < lanes->count && lanes->list[index].free > event->start) {
        index++;
    }
    if (index < lanes->count) {
        w->packets.ticks = lanes->list[index].ticks;
    }
    else {
        if (fd_vector_push(lanes, (lane){.free = 0}) != FD_OK) {
            return FD_ENOMEM;
        }
        begin_track(w, w->tracks->lanes + index, "Asynchronous work", false);
    }
    const fd_slice_names *names = w->tracks->names;
    put_slice(w, "async",
              fd_text_pool_get(&names->names,
                               names->of_context[event->context].name),
              event->start, end);
    lanes->list[index] = (lane){end, w->packets.ticks};
    return FD_OK;
}

static fd_status
write_asyncs(writer *w)
{
    event_list list = {NULL, 0, 0};
    lane_list lanes = {NULL, 0, 0};
    fd_status status = collect(w->tracks->rank, FD_EVENT_ASYNC, &list);
    for (uint32_t i = 0; i < list.count && status == FD_OK; i++) {
        status = write_async(w, list.list[i], &lanes);
    }
    fd_vector_clear(&list);
    fd_vector_clear(&lanes);
    return status;
}

static fd_status
write_phases(writer *w)
{
    fd_phase_slices slices = {NULL, 0, 0};
    fd_status status = fd_phase_slices_make(&slices, w->tracks->rank);
    if (slices.count > 0) {
        begin_track(w, w->tracks->phases, "Time by phase", false);
    }
    for (uint32_t i = 0; i < slices.count; i++) {
        char name[FD_COUNTER_NAME];
        snprintf(name, sizeof name, "phase: %s", slices.list[i].name);
        put_slice(w, "phase", name, slices.list[i].start, slices.list[i].end);
    }
    fd_vector_clear(&slices);
    return status;
}

/* Write the values of a counter, one track per thread or device; the values of
 * a track are consecutive. */
static void
write_values(writer *w, const fd_counter_values *values, fd_counter counter)
{
    const fd_perfetto_tracks *tracks = w->tracks;
    char name[FD_COUNTER_NAME];
    for (uint32_t i = 0; i < values->count && w->counters < tracks->capacity;
         i++) {
        const fd_counter_value *value = &values->list[i];
        if (i == 0 || values->list[i - 1].of != value->of) {
            fd_counter_name(counter, tracks->trace, tracks->rank, value->of,
                            name);
            begin_track(w, tracks->first + w->counters, name, true);
        }
        fd_proto_number(&w->packets.body, FD_PB_EVENT_COUNTER, value->value);
        fd_native_put_body(&w->packets, FD_PB_TYPE_COUNTER,
                           (int64_t)value->time);
        w->counters +=
            i + 1 == values->count || values->list[i + 1].of != value->of;
    }
}

static fd_status
write_counters(writer *w)
{
    fd_status status = FD_OK;
    for (int i = 0; i < FD_COUNTER_KINDS && status == FD_OK; i++) {
        fd_counter_values values = {NULL, 0, 0};
        status =
            fd_counter_values_make(&values, (fd_counter)i, w->tracks->rank);
        write_values(w, &values, (fd_counter)i);
        fd_vector_clear(&values);
    }
    return status;
}

fd_status
fd_perfetto_tracks_write(const fd_perfetto_tracks *tracks, fd_buffer *to)
{
    writer w = {.tracks = tracks, .packets.to = to};
    fd_status status = write_steps(&w);
    if (status == FD_OK) {
        status = write_asyncs(&w);
    }
    if (status == FD_OK) {
        status = write_phases(&w);
    }
    if (status == FD_OK) {
        status = write_counters(&w);
    }
    fd_native_packets_clear(&w.packets);
    return status == FD_OK ? to->status : status;
}
