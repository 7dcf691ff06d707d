#include "events/writers/perfetto_writer.h"
#include "events/writers/perfetto_writing.h"

#include "base/alloc.h"
#include "base/budget.h"
#include "events/recorded/perfetto_fields.h"
#include "streams/protobuf.h"
#include "json/decimal.h"

#include <string.h>

/* Order of events at the same time: begins and ends as read, complete slices
 * from the longest, then instants and counters, which lie within them. */
#define SECOND_SLICE (UINT64_C(1) << 62)
#define SECOND_POINT (UINT64_C(2) << 62)

/* An event being stored. */
typedef struct storing {
    fd_perfetto_writer *w;
    const fd_timeline_event *event;
    fd_timeline_ids *ids;
    uint32_t process;
    uint32_t lane;  /* of a slice; see find_lane */
    uint32_t track; /* of an instant or counter; see find_lane */
    int64_t time;   /* ns, on the clock of the input */
    fd_error *error;
} storing;

fd_perfetto_writer *
fd_perfetto_writer_new(fd_bytes_out *out, const char *output,
                       fd_perfetto_spare *spare)
{
    fd_perfetto_writer *w = fd_calloc(1, sizeof *w);
    if (w != NULL) {
        w->out = out;
        w->spare = spare;
        w->sorter = fd_sorter_new(output, FD_SORTER_BUDGET);
    }
    if (w != NULL && w->sorter == NULL) {
        fd_free(w);
        w = NULL;
    }
    return w;
}

void
fd_perfetto_writer_free(fd_perfetto_writer *w)
{
    if (w != NULL) {
        fd_sorter_free(w->sorter);
        fd_perfetto_texts_clear(&w->texts);
        fd_text_pool_clear(&w->stored);
        fd_text_pool_clear(&w->series);
        fd_vector_clear(&w->processes);
        fd_vector_clear(&w->threads);
        fd_vector_clear(&w->counters);
        fd_vector_clear(&w->named);
        fd_vector_clear(&w->outputs);
        fd_buffer_clear(&w->record);
        fd_buffer_clear(&w->body);
        fd_buffer_clear(&w->scratch);
        fd_free(w);
    }
}

void
fd_perfetto_writer_begin(fd_perfetto_writer *w, bool nested)
{
    w->nested = nested;
}

/* Find the thread of an event. Viewers show an event without a tid on the main
 * thread. */
static fd_status
find_thread(storing *t, uint32_t *thread)
{
    static const char zero[] = "0";
    fd_span tid = t->event->tid.from != NULL ? t->event->tid
                : t->event->pid.from != NULL ? t->event->pid
                                             : (fd_span){zero, zero + 1};
    return fd_perfetto_thread_of(t->w, t->ids, t->process, tid, thread);
}

/* Find the lane for a slice, and the track for an instant or counter. */
static fd_status
find_lane(storing *t)
{
    uint32_t thread;
    if (t->event->native != NULL) {
        return FD_OK; /* see find_native */
    }
    fd_status status = find_thread(t, &thread);
    if (status == FD_OK) {
        t->lane = FD_PERFETTO_LANE(thread, false);
        t->track = t->w->threads.list[thread].track;
    }
    return status;
}

/* Store the text of a metadata row. */
static fd_status
keep_value(storing *t, const char *name, uint32_t *stored)
{
    fd_perfetto_writer *w = t->w;
    fd_span value;
    if (!fd_timeline_find(t->event, name, &value)
        || !fd_buffer_fits(&w->stored.bytes, fd_span_size(value),
                           fd_budget(FD_PERFETTO_ROWS))) {
        w->skipped++;
        return FD_OK;
    }
    value = fd_perfetto_spell(&w->texts, value);
    fd_status status = w->texts.scratch.status;
    return status == FD_OK ? fd_text_pool_add(&w->stored, value.from,
                                              fd_span_size(value), stored)
                           : status;
}

static fd_status
take_row(storing *t)
{
    fd_perfetto_writer *w = t->w;
    fd_span what = t->event->name.from != NULL ? fd_span_inside(t->event->name)
                                               : (fd_span){"", ""};
    uint32_t thread;
    if (fd_span_is(what, "process_labels")) {
        uint32_t track;
        fd_status status = fd_perfetto_process_track(w, t->process, &track);
        return status == FD_OK ? keep_value(
                   t, "labels", &w->processes.list[t->process].labels)
                               : status;
    }
    bool names = fd_span_is(what, "thread_name");
    if (!names && !fd_span_is(what, "thread_sort_index")) {
        w->skipped++;
        return FD_OK;
    }
    fd_status status = find_thread(t, &thread);
    if (status == FD_OK && names) {
        status = keep_value(t, "name", &w->threads.list[thread].name);
    }
    fd_span value;
    int64_t thousandths;
    if (status == FD_OK && !names
        && fd_timeline_find(t->event, "sort_index", &value)
        && fd_decimal_ns(fd_span_inside(value), &thousandths)) {
        w->threads.list[thread].sorted = true;
        w->threads.list[thread].sort_index = thousandths / 1000;
    }
    return status;
}

static uint64_t
mark_order(const storing *t)
{
    return t->w->nested ? 0 : SECOND_POINT;
}

fd_status
fd_perfetto_writer_flush(fd_perfetto_writer *w, fd_error *error)
{
    bool waits = w->waits;
    w->waits = false;
    if (waits && w->record.status != FD_OK) {
        return w->record.status;
    }
    return waits ? fd_sorter_add(w->sorter, w->time, w->second,
                                 w->record.bytes, w->record.size, error)
                 : FD_OK;
}

/* Store the event with its body: in the sorter, or in `record` until its flows
 * are read. */
static fd_status
put_aside(storing *t, fd_perfetto_what what, uint32_t number, uint64_t second,
          uint64_t duration)
{
    fd_perfetto_writer *w = t->w;
    uint8_t head[24];
    uint8_t *end = head;
    fd_status status = fd_perfetto_writer_flush(w, t->error);
    if (status != FD_OK) {
        return status;
    }
    *end++ = (uint8_t)what;
    end = fd_proto_put(end, number);
    end = fd_proto_put(end, duration);
    w->record.size = 0;
    fd_buffer_bytes(&w->record, head, (size_t)(end - head));
    fd_buffer_bytes(&w->record, w->body.bytes, w->body.size);
    w->waits = true;
    w->time = t->time;
    w->second = second;
    status = w->body.status;
    return status == FD_OK && !w->nested
             ? fd_perfetto_writer_flush(w, t->error)
             : status;
}

/* Add a flow to the pending record. */
static fd_status
take_flow(storing *t)
{
    fd_perfetto_writer *w = t->w;
    uint64_t id = fd_timeline_ids_number(t->ids, t->event->id);
    fd_proto_fixed(&w->record,
                   t->event->phase == 'f' ? FD_PB_EVENT_LAST_FLOWS
                                          : FD_PB_EVENT_FLOWS,
                   &id);
    return w->record.status;
}

static fd_status
put_native_title(storing *t, const fd_perfetto_event *native)
{
    fd_perfetto_texts *texts = &t->w->texts;
    const fd_text_pool *from = &native->tables->texts;
    fd_buffer *body = &t->w->body;
    fd_status status = FD_OK;
    if (native->category != 0) {
        status = fd_perfetto_text_of(
            &texts->categories, from, native->category,
            FD_PB_EVENT_CATEGORY_IID, FD_PB_EVENT_CATEGORY, body);
    }
    return status == FD_OK && native->name != 0
             ? fd_perfetto_text_of(&texts->names, from, native->name,
                                   FD_PB_EVENT_NAME_IID, FD_PB_EVENT_NAME,
                                   body)
             : status;
}

/* Append category and name. */
static fd_status
put_title(storing *t)
{
    static const char unnamed[] = "[No name]";
    fd_perfetto_texts *texts = &t->w->texts;
    fd_buffer *body = &t->w->body;
    fd_status status = FD_OK;
    if (t->event->native != NULL) {
        return put_native_title(t, t->event->native);
    }
    if (t->event->cat.from != NULL) {
        fd_span text = fd_perfetto_spell(texts, t->event->cat);
        if (fd_span_size(text) > 0) {
            status = fd_perfetto_text(&texts->categories, text,
                                      FD_PB_EVENT_CATEGORY_IID,
                                      FD_PB_EVENT_CATEGORY, body);
        }
    }
    fd_span name = t->event->name.from != NULL
                     ? fd_perfetto_spell(texts, t->event->name)
                     : (fd_span){unnamed, unnamed + sizeof unnamed - 1};
    return status == FD_OK
             ? fd_perfetto_text(&texts->names, name, FD_PB_EVENT_NAME_IID,
                                FD_PB_EVENT_NAME, body)
             : status;
}

static fd_status
put_args(storing *t)
{
    fd_perfetto_writer *w = t->w;
    return t->event->native != NULL
             ? fd_native_fields(&w->texts, t->event->native, &w->body)
             : fd_perfetto_notes(&w->texts, t->event->args, &w->body);
}

/* Append the flow of a slice with a bind_id. */
static void
put_binding(storing *t)
{
    fd_buffer *legacy = &t->w->scratch;
    bool in = t->event->flow_in;
    bool out = t->event->flow_out;
    if (t->event->bind_id.from == NULL || (!in && !out)) {
        return;
    }
    legacy->size = 0;
    fd_proto_number(legacy, FD_PB_LEGACY_BIND_ID,
                    fd_timeline_ids_number(t->ids, t->event->bind_id));
    fd_proto_number(legacy, FD_PB_LEGACY_DIRECTION,
                    (uint64_t)in | (uint64_t)out << 1);
    fd_proto_message(&t->w->body, FD_PB_EVENT_LEGACY, legacy);
}

static fd_status
take_slice(storing *t)
{
    char phase = t->event->phase;
    bool begins = phase == 'B' || phase == 'b';
    fd_status status = find_lane(t);
    if (status == FD_OK && (begins || phase == 'X')) {
        status = put_title(t);
        put_binding(t);
    }
    status = status == FD_OK ? put_args(t) : status;
    if (status != FD_OK || phase != 'X') {
        uint32_t what = begins ? FD_PERFETTO_BEGIN : FD_PERFETTO_END;
        return status == FD_OK ? put_aside(t, what, t->lane, 0, 0) : status;
    }
    int64_t dur = t->event->has_duration && t->event->duration > 0
                    ? t->event->duration
                    : 0;
    if (dur >= INT64_MAX - (t->time > 0 ? t->time : 0)) {
        dur = INT64_MAX - 1 - (t->time > 0 ? t->time : 0);
    }
    uint64_t shorter =
        SECOND_SLICE - 1
        - ((uint64_t)dur < SECOND_SLICE ? (uint64_t)dur : SECOND_SLICE - 1);
    return put_aside(t, FD_PERFETTO_SLICE, t->lane, SECOND_SLICE | shorter,
                     (uint64_t)dur);
}

static fd_status
take_instant(storing *t)
{
    char scope = 't';
    if (t->event->phase != 'R' && t->event->scope != 0) {
        scope = t->event->scope;
    }
    fd_status status = FD_OK;
    if (scope == 'g') {
        t->w->global = t->w->global != 0 ? t->w->global : t->w->spare->track++;
        t->track = t->w->global;
    }
    else if (scope == 'p') {
        status = fd_perfetto_process_track(t->w, t->process, &t->track);
    }
    else {
        status = find_lane(t);
    }
    status = status == FD_OK ? put_title(t) : status;
    status = status == FD_OK ? put_args(t) : status;
    return status == FD_OK
             ? put_aside(t, FD_PERFETTO_INSTANT, t->track, mark_order(t), 0)
             : status;
}

/* Append the name of a series: "<process>:<name> [id: <id>] <key>". */
static void
put_series(storing *t, fd_span key, fd_buffer *title)
{
    fd_perfetto_writer *w = t->w;
    fd_span parts[3] = {
        t->event->name, fd_timeline_id(t->event), {key.from - 1, key.to + 1}};
    title->size = 0;
    fd_buffer_format(title, "%u:", (unsigned)t->process);
    for (int i = 0; i < 3; i++) {
        if (parts[i].from != NULL) {
            fd_span text = fd_perfetto_spell(&w->texts, parts[i]);
            fd_buffer_text(title, i == 1 ? " id: " : i == 2 ? " " : "");
            fd_buffer_bytes(title, text.from, fd_span_size(text));
        }
    }
}

/* Find or add the track of a counter series. */
static fd_status
find_series(storing *t, fd_span key, uint32_t *track)
{
    fd_perfetto_writer *w = t->w;
    fd_buffer *title = &w->scratch;
    uint32_t made;
    put_series(t, key, title);
    fd_status status = title->status;
    if (w->series.texts.count >= fd_budget(FD_PERFETTO_SERIES)) {
        return FD_EFULL;
    }
    if (status == FD_OK) {
        status =
            fd_text_pool_add(&w->series, title->bytes, title->size, &made);
    }
    while (status == FD_OK && w->counters.count <= made) {
        fd_perfetto_one_series one = {
            w->counters.count > 0 ? w->spare->track++ : 0, t->process};
        status = fd_vector_push(&w->counters, one);
    }
    *track = status == FD_OK ? w->counters.list[made].track : 0;
    return status;
}

static fd_status
take_value(storing *t, fd_span key, fd_span value)
{
    uint32_t track;
    fd_buffer *body = &t->w->body;
    body->size = 0;
    if (!fd_perfetto_number(fd_span_inside(value), FD_PB_EVENT_COUNTER,
                            FD_PB_EVENT_DOUBLE_COUNTER, body)) {
        t->w->skipped++;
        return FD_OK;
    }
    fd_status status = find_series(t, key, &track);
    return status == FD_OK
             ? put_aside(t, FD_PERFETTO_COUNTER, track, mark_order(t), 0)
             : status;
}

static fd_status
take_counters(storing *t)
{
    const fd_perfetto_event *native = t->event->native;
    if (native != NULL && native->type == FD_PB_TYPE_COUNTER) {
        fd_native_value(native, &t->w->body);
        return put_aside(t, FD_PERFETTO_COUNTER, t->track, mark_order(t), 0);
    }
    fd_span object = fd_timeline_args(t->event);
    fd_scan scan = {.at = object.from, .end = object.to, .forgets = true};
    fd_status status = FD_OK;
    fd_span key;
    uint32_t unused;
    bool first = true;
    if (object.from == NULL || fd_scan_mark(&scan, '{') != FD_SCAN_OK) {
        t->w->skipped++;
        return FD_OK;
    }
    status = fd_perfetto_process_track(t->w, t->process, &unused);
    while (status == FD_OK
           && fd_scan_member(&scan, first, &key) == FD_SCAN_OK) {
        const char *from = scan.at;
        first = false;
        if (fd_scan_value(&scan) != FD_SCAN_OK) {
            return FD_EFORMAT;
        }
        status = take_value(t, key, (fd_span){from, scan.at});
    }
    return status;
}

/* Append an id; its field number is its scope. */
static bool
put_id(storing *t, fd_buffer *legacy)
{
    const fd_timeline_event *event = t->event;
    fd_span id = fd_timeline_id(event);
    uint32_t field = event->local_id.from != NULL  ? FD_PB_LEGACY_LOCAL_ID
                   : event->global_id.from != NULL ? FD_PB_LEGACY_GLOBAL_ID
                                                   : FD_PB_LEGACY_ID;
    if (id.from != NULL) {
        fd_proto_number(legacy, field, fd_timeline_ids_number(t->ids, id));
    }
    return id.from != NULL;
}

/* Store a flow or an asynchronous event as a legacy event of Perfetto. */
static fd_status
take_joined(storing *t)
{
    fd_perfetto_writer *w = t->w;
    fd_buffer *legacy = &w->scratch;
    fd_status status = find_lane(t);
    status = status == FD_OK ? put_title(t) : status;
    legacy->size = 0;
    fd_proto_number(legacy, FD_PB_LEGACY_PHASE, (uint64_t)t->event->phase);
    if (status == FD_OK && !put_id(t, legacy)) {
        w->skipped++;
        return FD_OK;
    }
    if (t->event->phase == 'f' && t->event->encloses) {
        fd_proto_number(legacy, FD_PB_LEGACY_BINDS_ENCLOSING, 1);
    }
    fd_proto_message(&w->body, FD_PB_EVENT_LEGACY, legacy);
    status = status == FD_OK ? put_args(t) : status;
    return status == FD_OK
             ? put_aside(t, FD_PERFETTO_LEGACY, t->track, mark_order(t), 0)
             : status;
}

/* Return whether the event is a slice or an instant on a native track that is
 * not a thread; see readers/perfetto_event.c. */
static bool
is_on_track(const fd_timeline_event *event)
{
    return event->native != NULL && !event->native->is_legacy;
}

static fd_status
take(storing *t)
{
    switch (t->event->phase) {
    case 'M':
        return take_row(t);
    case 'X':
    case 'B':
    case 'E':
        return take_slice(t);
    case 'i':
    case 'I':
    case 'R':
        return take_instant(t);
    case 'C':
        return take_counters(t);
    case 'b':
    case 'e':
        return is_on_track(t->event) ? take_slice(t) : take_joined(t);
    case 'n':
        return is_on_track(t->event) ? take_instant(t) : take_joined(t);
    case 's':
    case 't':
    case 'f':
    case 'S':
    case 'T':
    case 'p':
    case 'F':
        return take_joined(t);
    default:
        break;
    }
    t->w->skipped++;
    return FD_OK;
}

static fd_status
find_native(storing *t, const fd_perfetto_event *native)
{
    fd_output_track output;
    fd_status status = fd_output_track_of(t->w, t->ids, native->tables,
                                          native->track, &output);
    t->process = output.process;
    t->lane = output.lane;
    t->track = output.track;
    return status;
}

fd_status
fd_perfetto_writer_event(fd_perfetto_writer *w, const fd_timeline_event *event,
                         fd_timeline_ids *ids, fd_error *error)
{
    storing t = {.w = w,
                 .event = event,
                 .ids = ids,
                 .time = event->start,
                 .error = error};
    bool taken = false;
    fd_status status =
        event->native != NULL && event->phase != 'M'
            ? find_native(&t, event->native)
            : fd_timeline_ids_take(ids, event, &t.process, &taken);
    if (status != FD_OK || taken) {
        return status;
    }
    if (event->phase != 'M' && !event->has_start) {
        return FD_EFORMAT;
    }
    w->body.size = 0;
    bool joins = event->follows && w->waits && w->time == t.time;
    return joins ? take_flow(&t) : take(&t);
}
