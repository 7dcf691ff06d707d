/* Writing of the stored events of an input as packets. */
#include "events/writers/perfetto_writer.h"
#include "events/writers/perfetto_writing.h"

#include "base/budget.h"
#include "events/writers/perfetto_fields.h"
#include "events/writers/perfetto_rows.h"
#include "json/json_text.h"

#include <string.h>

enum {
    TEXTS_PER_PACKET = 1 << 15,
    FIRST_TID = 2000000000 /* FD_TIMELINE_FIRST_TID exceeds 31 bits */
};

/* An input being written. */
typedef struct sending {
    fd_perfetto_writer *w;
    const fd_timeline_ids *ids;
    const fd_perfetto_clock *clock; /* borrowed */
    const char *label;
    fd_perfetto_counts *counts;
    fd_perfetto_lanes lanes;
    fd_native_packets packets;
    fd_error *error;
} sending;

/* Return the track of the thread with most slices. */
static uint32_t
frequent_track(const sending *s)
{
    uint32_t track = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < s->w->threads.count; i++) {
        const fd_perfetto_thread *thread = &s->w->threads.list[i];
        track = thread->uses > most ? thread->track : track;
        most = thread->uses > most ? thread->uses : most;
    }
    return track;
}

/* Begin the sequence, with a clock that counts times of the input. */
static void
begin_sequence(sending *s, const fd_sorted *first)
{
    fd_native_begin(&s->packets, s->w->spare->sequence++, frequent_track(s));
    if (first->bytes != NULL) {
        fd_native_begin_clock(&s->packets, s->clock, first->key);
    }
}

static fd_span
finished_text(const sending *s, const fd_buffer *text)
{
    fd_buffer *to = s->packets.to;
    to->status = text->status != FD_OK ? text->status : to->status;
    return text->size > 0 ? (fd_span){text->bytes, text->bytes + text->size}
                          : (fd_span){"", ""};
}

static void
put_texts(sending *s, const fd_text_pool *pool, uint32_t field)
{
    for (uint32_t i = 1; i < pool->texts.count; i++) {
        fd_native_intern(&s->packets, field, i, fd_text_pool_span(pool, i));
        if (s->packets.texts.size > fd_budget(TEXTS_PER_PACKET)
            || i + 1 == pool->texts.count) {
            fd_native_send_texts(&s->packets);
        }
    }
}

static void
put_process(sending *s, uint32_t process, uint32_t index)
{
    const fd_perfetto_process *p = &s->w->processes.list[process];
    fd_buffer *text = &s->w->scratch;
    fd_buffer *name = &s->w->record;
    name->size = text->size = 0;
    fd_json_string(fd_text_pool_span(&s->ids->names,
                                     s->ids->processes.list[process].name),
                   name);
    fd_timeline_ids_title(
        s->ids,
        (fd_span){s->ids->label, s->ids->label + strlen(s->ids->label)},
        finished_text(s, name), text);
    const fd_native_process put = {
        .track = p->track,
        .pid = s->ids->processes.list[process].pid,
        .sort_index = fd_timeline_ids_sort_index(s->ids, index),
        .name = finished_text(s, text),
        .labels = {{s->label, s->label + strlen(s->label)},
                   fd_text_pool_span(&s->w->stored, p->labels)}};
    fd_native_put_process(&s->packets, &put);
}

static void
put_thread(sending *s, uint32_t thread)
{
    const fd_perfetto_thread *t = &s->w->threads.list[thread];
    const fd_timeline_thread *known = &s->ids->threads.list[thread];
    fd_native_thread put = {.track = t->track,
                            .pid = known->pid,
                            .tid =
                                known->tid - FD_TIMELINE_FIRST_TID + FIRST_TID,
                            .sorted = t->sorted,
                            .sort_index = t->sort_index,
                            .name = fd_text_pool_span(&s->w->stored, t->name)};
    if (t->name == 0) {
        fd_buffer *text = &s->w->scratch;
        const char *was = fd_text_pool_get(&s->ids->names, known->was);
        text->size = 0;
        fd_json_string((fd_span){was, was + strlen(was)}, text);
        put.name = finished_text(s, text);
    }
    fd_native_put_thread(&s->packets, &put);
}

static fd_status
put_beside(sending *s, uint32_t thread)
{
    const fd_perfetto_thread *t = &s->w->threads.list[thread];
    fd_buffer *name = &s->w->scratch;
    uint32_t parent;
    fd_status status = fd_perfetto_process_track(s->w, t->process, &parent);
    name->size = 0;
    fd_buffer_bytes(name, fd_text_pool_get(&s->w->stored, t->name),
                    fd_text_pool_size(&s->w->stored, t->name));
    fd_buffer_bytes(name, "", 1);
    if (status == FD_OK && name->status == FD_OK) {
        fd_native_put_track(&s->packets, t->track, parent, name->bytes, false);
    }
    return fd_then(status, name->status);
}

static fd_status
put_processes(sending *s)
{
    fd_timeline_order order = {NULL, 0, 0};
    fd_perfetto_writer *w = s->w;
    fd_status status = fd_timeline_ids_order(s->ids, &order);
    for (uint32_t i = 0; i < order.count && status == FD_OK; i++) {
        uint32_t process = order.list[i].process;
        uint32_t track;
        status = fd_perfetto_process_track(w, process, &track);
        if (status == FD_OK) {
            put_process(s, process, i);
        }
    }
    fd_vector_clear(&order);
    return status;
}

static fd_status
put_tracks(sending *s)
{
    fd_perfetto_writer *w = s->w;
    fd_status status = put_processes(s);
    for (uint32_t i = 0; i < w->threads.count && status == FD_OK; i++) {
        if (w->threads.list[i].beside) {
            status = put_beside(s, i);
        }
        else {
            put_thread(s, i);
        }
        status = status != FD_OK ? status
                                 : fd_perfetto_lanes_thread(
                                     &s->lanes, w->threads.list[i].track);
    }
    for (uint32_t i = 1; i < w->counters.count && status == FD_OK; i++) {
        const char *title = fd_text_pool_get(&w->series, i);
        fd_native_put_track(
            &s->packets, w->counters.list[i].track,
            w->processes.list[w->counters.list[i].process].track,
            strchr(title, ':') + 1, true);
    }
    if (w->global != 0 && status == FD_OK) {
        fd_buffer *name = &w->scratch;
        name->size = 0;
        fd_buffer_format(name, "rank %u", (unsigned)s->ids->rank);
        fd_buffer_bytes(name, "", 1);
        status = name->status;
        if (status == FD_OK) {
            fd_native_put_track(&s->packets, w->global, 0, name->bytes, false);
        }
    }
    return status;
}

static uint64_t
varint_number(const char **at)
{
    uint64_t value = 0;
    int shift = 0;
    while ((unsigned char)**at >= 0x80) {
        value |= (uint64_t)(*(*at)++ & 0x7F) << shift;
        shift += 7;
    }
    return value | (uint64_t) * (*at)++ << shift;
}

static fd_status
put_event(sending *s, const fd_sorted *item)
{
    const char *at = item->bytes + 1;
    const char *end = item->bytes + item->size;
    uint32_t index = (uint32_t)varint_number(&at);
    int64_t duration = (int64_t)varint_number(&at);
    size_t size = (size_t)(end - at);
    int64_t time = item->key;
    switch ((fd_perfetto_what)*item->bytes) {
    case FD_PERFETTO_SLICE:
        return fd_perfetto_slice(&s->lanes, index, time, time + duration, at,
                                 size);
    case FD_PERFETTO_BEGIN:
        return fd_perfetto_begin(&s->lanes, index, time, at, size);
    case FD_PERFETTO_END:
        return fd_perfetto_end(&s->lanes, index, time, at, size);
    case FD_PERFETTO_INSTANT:
        return fd_perfetto_mark(&s->lanes, index, FD_PB_TYPE_INSTANT, time, at,
                                size);
    case FD_PERFETTO_COUNTER:
        return fd_perfetto_mark(&s->lanes, index, FD_PB_TYPE_COUNTER, time, at,
                                size);
    case FD_PERFETTO_LEGACY:
        break;
    }
    return fd_perfetto_mark(&s->lanes, index, 0, time, at, size);
}

/* Skip events before time 0. */
static fd_status
skip_early(sending *s, fd_sorted *item)
{
    fd_status status;
    while ((status = fd_sorter_next(s->w->sorter, item, s->error)) == FD_OK
           && item->bytes != NULL
           && fd_clock_apply(&s->clock->map, item->key) < 0) {
        s->counts->early++;
    }
    return status;
}

static fd_status
put_all(sending *s)
{
    fd_perfetto_writer *w = s->w;
    fd_sorted item;
    fd_status status = skip_early(s, &item);
    if (status != FD_OK) {
        return status;
    }
    begin_sequence(s, &item);
    status = put_tracks(s);
    put_texts(s, &w->texts.categories.texts, FD_PB_INTERNED_CATEGORY);
    put_texts(s, &w->texts.names.texts, FD_PB_INTERNED_NAME);
    put_texts(s, &w->texts.notes.texts, FD_PB_INTERNED_NOTE_NAME);
    while (status == FD_OK && item.bytes != NULL) {
        status = put_event(s, &item);
        if (status == FD_EFULL) {
            s->counts->skipped++;
            status = FD_OK;
        }
        if (status == FD_OK && w->out != NULL) {
            status = fd_bytes_out_flow(w->out, s->error);
        }
        fd_then(status, fd_sorter_next(w->sorter, &item, s->error));
    }
    return fd_then(status, fd_perfetto_finish(&s->lanes));
}

static void
forget_input(fd_perfetto_writer *w)
{
    fd_perfetto_texts_clear(&w->texts);
    fd_text_pool_clear(&w->stored);
    fd_text_pool_clear(&w->series);
    w->processes.count = w->threads.count = w->counters.count = 0;
    w->global = 0;
    w->skipped = 0;
}

fd_status
fd_perfetto_writer_end(fd_perfetto_writer *w, const fd_timeline_ids *ids,
                       const fd_perfetto_clock *clock, const char *label,
                       fd_perfetto_counts *counts, fd_error *error)
{
    sending s = {.w = w,
                 .ids = ids,
                 .clock = clock,
                 .label = label,
                 .counts = counts,
                 .packets.to = w->to,
                 .error = error};
    s.lanes.packets = &s.packets;
    s.lanes.spare_track = &w->spare->track;
    counts->skipped += w->skipped;
    fd_status status = put_all(&s);
    counts->aside += s.lanes.aside;
    counts->crossed += s.lanes.crossed;
    counts->alone += s.lanes.alone;
    fd_perfetto_lanes_clear(&s.lanes);
    fd_native_packets_clear(&s.packets);
    forget_input(w);
    return fd_then(status, s.packets.to->status);
}
