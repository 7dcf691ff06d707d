/* Writing of the stored events of an input as packets. */
#include "events/writers/perfetto_writer.h"
#include "events/writers/perfetto_writing.h"

#include "events/writers/perfetto_fields.h"
#include "events/writers/perfetto_rows.h"
#include "streams/protobuf.h"
#include "json/json_text.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_TID = 2000000000 /* FD_TIMELINE_FIRST_TID exceeds 31 bits */ };

/* An input being written. */
typedef struct sending {
    fd_perfetto_writer *w;
    const fd_timeline_ids *ids;
    const char *label;
    fd_timeline_order order; /* owned */
    fd_perfetto_lanes lanes;
    fd_native_packets packets;
} sending;

/* Return the track of the thread with most slices. */
static uint32_t
frequent_track(const fd_perfetto_input *in)
{
    uint32_t track = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < in->threads.count; i++) {
        const fd_perfetto_thread *thread = &in->threads.list[i];
        track = thread->uses > most ? thread->track : track;
        most = thread->uses > most ? thread->uses : most;
    }
    return track;
}

/* Decode the text inside a JSON string. */
static fd_span
decoded_text(const sending *s, uint32_t text, fd_buffer *to)
{
    to->size = 0;
    fd_json_string(fd_text_pool_span(&s->ids->names, text), to);
    fd_arena_check(s->lanes.arena, to->status);
    return to->size > 0 ? fd_span_of(to) : fd_span_text("");
}

static void
put_process(sending *s, uint32_t process, uint32_t index)
{
    uint32_t track = fd_perfetto_process_track(s->w, process);
    fd_span stored = fd_text_pool_span(
        &s->w->in.stored, s->w->in.processes.list[process].labels);
    const fd_timeline_process *known = &s->ids->processes.list[process];
    fd_span name = decoded_text(s, known->name, &s->w->record);
    fd_buffer *title = &s->w->scratch;
    title->size = 0;
    fd_timeline_ids_title(s->ids, fd_span_text(s->ids->label), name, title);
    fd_arena_check(s->lanes.arena, title->status);
    const fd_native_field fields[] = {
        {FD_PB_PROCESS_PID, .number = known->pid},
        {FD_PB_PROCESS_SORT,
         .number = fd_timeline_ids_sort_index(s->ids, index)},
        {FD_PB_PROCESS_NAME,
         .text = title->size > 0 ? fd_span_of(title) : fd_span_text("")},
        {s->label[0] != '\0' ? FD_PB_PROCESS_LABEL : 0,
         .text = fd_span_text(s->label)},
        {fd_span_size(stored) > 0 ? FD_PB_PROCESS_LABEL : 0, .text = stored}};
    fd_native_put_track(&s->packets, track, FD_PB_TRACK_PROCESS, fields, 5);
}

/* Write the track of a thread, or a track beside those of threads. */
static void
put_thread(sending *s, uint32_t thread)
{
    const fd_perfetto_thread *t = &s->w->in.threads.list[thread];
    const fd_timeline_thread *known = &s->ids->threads.list[thread];
    fd_span name = t->name != 0 || t->beside
                     ? fd_text_pool_span(&s->w->in.stored, t->name)
                     : decoded_text(s, known->was, &s->w->scratch);
    const fd_native_field fields[] = {
        {FD_PB_THREAD_PID, .number = known->pid},
        {FD_PB_THREAD_TID,
         .number = known->tid - FD_TIMELINE_FIRST_TID + FIRST_TID},
        {t->sorted ? FD_PB_THREAD_SORT : 0, .number = (uint64_t)t->sort_index},
        {FD_PB_THREAD_NAME, .text = name}};
    if (!t->beside) {
        fd_native_put_track(&s->packets, t->track, FD_PB_TRACK_THREAD, fields,
                            4);
    }
    else {
        const fd_native_field beside[] = {
            {FD_PB_TRACK_NAME, .text = name},
            {FD_PB_TRACK_PARENT,
             .number = fd_perfetto_process_track(s->w, t->process)}};
        fd_native_put_track(&s->packets, t->track, 0, beside, 2);
    }
    fd_perfetto_lanes_thread(&s->lanes, t->track);
}

static void
put_counter(sending *s, uint32_t index)
{
    const fd_perfetto_input *in = &s->w->in;
    const fd_perfetto_one_series *series = &in->counters.list[index];
    const char *title = fd_text_pool_get(&in->series, index);
    const fd_native_field fields[] = {
        {FD_PB_TRACK_NAME, .text = fd_span_text(strchr(title, ':') + 1)},
        {FD_PB_TRACK_PARENT,
         .number = in->processes.list[series->process].track},
        {FD_PB_TRACK_COUNTER, .text = fd_span_text("")}};
    fd_native_put_track(&s->packets, series->track, 0, fields, 3);
}

static void
put_tracks(sending *s)
{
    const fd_perfetto_input *in = &s->w->in;
    fd_arena_check(s->lanes.arena, fd_timeline_ids_order(s->ids, &s->order));
    for (uint32_t i = 0; i < s->order.count; i++) {
        put_process(s, s->order.list[i].process, i);
    }
    for (uint32_t i = 0; i < in->threads.count; i++) {
        put_thread(s, i);
    }
    for (uint32_t i = 1; i < in->counters.count; i++) {
        put_counter(s, i);
    }
    if (in->global != 0) {
        char name[24];
        snprintf(name, sizeof name, "rank %u", (unsigned)s->ids->rank);
        const fd_native_field field = {FD_PB_TRACK_NAME,
                                       .text = fd_span_text(name)};
        fd_native_put_track(&s->packets, in->global, 0, &field, 1);
    }
}

static void
put_event(sending *s, const fd_sorted *item)
{
    const char *at = item->bytes + 1;
    const char *end = item->bytes + item->size;
    uint64_t number = 0;
    uint64_t duration = 0;
    fd_proto_varint(&at, end, &number);
    fd_proto_varint(&at, end, &duration);
    uint32_t index = (uint32_t)number;
    fd_span body = {at, end};
    int64_t time = item->key;
    uint32_t type = 0;
    fd_perfetto_lanes_until(&s->lanes, time);
    switch ((fd_perfetto_what)*item->bytes) {
    case FD_PERFETTO_SLICE:
        fd_perfetto_slice(&s->lanes, index, time, time + (int64_t)duration,
                          body);
        return;
    case FD_PERFETTO_BEGIN:
        fd_perfetto_begin(&s->lanes, index, time, body);
        return;
    case FD_PERFETTO_END:
        fd_perfetto_end(&s->lanes, index, time, body);
        return;
    case FD_PERFETTO_INSTANT:
        type = FD_PB_TYPE_INSTANT;
        break;
    case FD_PERFETTO_COUNTER:
        type = FD_PB_TYPE_COUNTER;
        break;
    case FD_PERFETTO_LEGACY:
        break;
    }
    fd_native_put_event(&s->packets, type, index, time, body);
}

static void
next_item(const sending *s, fd_sorted *item)
{
    fd_arena *arena = s->lanes.arena;
    fd_arena_check(arena, s->packets.to->status);
    if (s->w->out != NULL) {
        fd_arena_check(arena, fd_bytes_out_flow(s->w->out, arena->error));
    }
    fd_arena_check(arena, fd_sorter_next(s->w->sorter, item, arena->error));
}

/* Write everything. Events before time 0 are skipped. */
static void
put_all(sending *s, const fd_perfetto_clock *clock)
{
    static const uint32_t fields[FD_PERFETTO_KINDS] = {
        FD_PB_INTERNED_CATEGORY, FD_PB_INTERNED_NAME,
        FD_PB_INTERNED_NOTE_NAME};
    fd_sorted item;
    next_item(s, &item);
    while (item.bytes != NULL && fd_clock_apply(&clock->map, item.key) < 0) {
        s->lanes.counts->early++;
        next_item(s, &item);
    }
    fd_native_begin(&s->packets);
    if (item.bytes != NULL) {
        fd_native_begin_clock(&s->packets, clock, item.key);
    }
    put_tracks(s);
    for (int i = 0; i < FD_PERFETTO_KINDS; i++) {
        fd_native_put_texts(&s->packets, fields[i],
                            &s->w->in.texts.pools[i].texts);
    }
    while (item.bytes != NULL) {
        put_event(s, &item);
        next_item(s, &item);
    }
    fd_perfetto_lanes_until(&s->lanes, INT64_MAX);
    fd_arena_check(s->lanes.arena, s->packets.to->status);
}

static void
release_sending(void *sent)
{
    fd_vector_clear(&((sending *)sent)->order);
}

static fd_status
send_input(fd_perfetto_writer *w, const fd_timeline_ids *ids,
           const fd_perfetto_clock *clock, const char *label,
           fd_perfetto_counts *counts, fd_error *error)
{
    fd_arena *arena = &w->in.arena;
    if (fd_arena_caught(arena, error)) {
        return arena->status;
    }
    sending *s = fd_arena_owned(arena, sizeof *s, release_sending);
    *s = (sending){.w = w,
                   .ids = ids,
                   .label = label,
                   .packets = {.to = w->to,
                               .sequence = w->spare->sequence++,
                               .track = frequent_track(&w->in)},
                   .lanes = {.arena = arena,
                             .packets = &s->packets,
                             .spare_track = &w->spare->track,
                             .counts = counts}};
    counts->skipped += w->in.skipped;
    put_all(s, clock);
    return fd_arena_left(arena);
}

fd_status
fd_perfetto_writer_end(fd_perfetto_writer *w, const fd_timeline_ids *ids,
                       const fd_perfetto_clock *clock, const char *label,
                       fd_perfetto_counts *counts, fd_error *error)
{
    fd_status status = send_input(w, ids, clock, label, counts, error);
    fd_perfetto_forget(w);
    return status;
}
