#include "export/perfetto_tracks.h"

#include "export/perfetto_fields.h"
#include "export/proto.h"
#include "export/side_tracks.h"

#include <stdio.h>

typedef struct writer {
    const fd_perfetto_tracks *tracks;
    fd_buffer *to;
    fd_buffer packet; /* scratch */
    fd_buffer message;
    uint32_t counters; /* so far */
} writer;

static void
send(writer *w)
{
    fd_proto_number(&w->packet, FD_PB_PACKET_SEQUENCE, w->tracks->sequence);
    fd_proto_message(w->to, FD_PB_TRACE_PACKET, &w->packet);
}

static void
write_track(writer *w, uint32_t track, const char *name, bool counts)
{
    fd_proto_number(&w->message, FD_PB_TRACK_UUID, track);
    fd_proto_text(&w->message, FD_PB_TRACK_NAME, name);
    fd_proto_number(&w->message, FD_PB_TRACK_PARENT, w->tracks->parent);
    if (counts) {
        fd_proto_bytes(&w->message, FD_PB_TRACK_COUNTER, "", 0);
    }
    fd_proto_message(&w->packet, FD_PB_PACKET_TRACK, &w->message);
    send(w);
}

/* What `message` has begun. */
static void
write_event(writer *w, uint32_t track, uint64_t type, uint64_t time)
{
    const fd_perfetto_tracks *tracks = w->tracks;
    uint64_t since = (uint64_t)fd_clock_apply(&tracks->drift, (int64_t)time);
    fd_proto_number(&w->message, FD_PB_EVENT_TYPE, type);
    fd_proto_number(&w->message, FD_PB_EVENT_TRACK, track);
    fd_proto_number(&w->packet, FD_PB_PACKET_TIMESTAMP, tracks->base + since);
    fd_proto_number(&w->packet, FD_PB_PACKET_CLOCK, FD_PB_BOOTTIME);
    fd_proto_message(&w->packet, FD_PB_PACKET_TRACK_EVENT, &w->message);
    send(w);
}

static fd_status
write_phases(writer *w)
{
    fd_phase_slices slices = {NULL, 0, 0};
    uint32_t track = w->tracks->phases;
    fd_status status = fd_phase_slices_make(&slices, w->tracks->rank);
    if (slices.count > 0) {
        write_track(w, track, "Time by phase", false);
    }
    for (uint32_t i = 0; i < slices.count; i++) {
        char name[FD_COUNTER_NAME];
        snprintf(name, sizeof name, "phase: %s", slices.list[i].name);
        fd_proto_text(&w->message, FD_PB_EVENT_CATEGORY, "phase");
        fd_proto_text(&w->message, FD_PB_EVENT_NAME, name);
        write_event(w, track, FD_PB_TYPE_BEGIN, slices.list[i].start);
        write_event(w, track, FD_PB_TYPE_END, slices.list[i].end);
    }
    fd_vector_clear(&slices);
    return status;
}

/* A track for each thing that is counted; they come one after another. */
static void
write_counters(writer *w, const fd_counter_values *values, bool in_flight)
{
    const fd_perfetto_tracks *tracks = w->tracks;
    char name[FD_COUNTER_NAME];
    for (uint32_t i = 0; i < values->count && w->counters < tracks->room;
         i++) {
        const fd_counter_value *value = &values->list[i];
        uint32_t track = tracks->first + w->counters;
        if (i == 0 || values->list[i - 1].of != value->of) {
            if (in_flight) {
                fd_counter_in_flight_name(value->of, name);
            }
            else {
                fd_counter_lost_name(tracks->trace, tracks->rank, value->of,
                                     name);
            }
            write_track(w, track, name, true);
        }
        fd_proto_number(&w->message, FD_PB_EVENT_COUNTER, value->value);
        write_event(w, track, FD_PB_TYPE_COUNTER, value->time);
        w->counters += i + 1 == values->count
                       || values->list[i + 1].of != value->of;
    }
}

fd_status
fd_perfetto_tracks_write(const fd_perfetto_tracks *tracks, fd_buffer *to)
{
    writer w = {.tracks = tracks, .to = to};
    fd_counter_values flights = {NULL, 0, 0};
    fd_counter_values lost = {NULL, 0, 0};
    fd_status status = write_phases(&w);
    if (status == FD_OK) {
        status = fd_counter_in_flight(&flights, tracks->rank);
    }
    if (status == FD_OK) {
        status = fd_counter_lost(&lost, tracks->rank);
    }
    write_counters(&w, &flights, true);
    write_counters(&w, &lost, false);
    fd_vector_clear(&flights);
    fd_vector_clear(&lost);
    status = status == FD_OK ? w.packet.status : status;
    status = status == FD_OK ? w.message.status : status;
    fd_buffer_clear(&w.packet);
    fd_buffer_clear(&w.message);
    return status;
}
