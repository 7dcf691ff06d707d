#include "events/writers/perfetto_writer.h"
#include "events/writers/perfetto_writing.h"

#include "base/alloc.h"
#include "base/budget.h"
#include "events/writers/perfetto_fields.h"
#include "streams/protobuf.h"
#include "json/decimal.h"

/* Order of events at the same time: begins and ends as read, complete slices
 * from the longest, then instants and counters, which lie within them. */
#define SECOND_SLICE (UINT64_C(1) << 62)
#define SECOND_POINT (UINT64_C(2) << 62)

/* Budget of the sorter if the output stays in memory too. */
enum { MEMORY = 1 << 30 };

/* An event being stored. */
typedef struct storing {
    fd_perfetto_writer *w;
    const fd_timeline_event *event;
    fd_timeline_ids *ids;
    uint32_t process;
    uint32_t thread; /* of a slice; see find_track */
    uint32_t track;  /* of an instant or counter; see find_track */
    fd_error *error;
} storing;

fd_perfetto_writer *
fd_perfetto_writer_new(fd_buffer *to, fd_bytes_out *out, const char *output,
                       fd_perfetto_spare *spare)
{
    fd_perfetto_writer *w = fd_calloc(1, sizeof *w);
    if (w != NULL) {
        w->to = to;
        w->out = out;
        w->spare = spare;
        w->sorter =
            fd_sorter_new(output, out != NULL ? FD_SORTER_BUDGET : MEMORY);
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
        fd_buffer_clear(&w->record);
        fd_buffer_clear(&w->scratch);
        fd_free(w);
    }
}

fd_status
fd_perfetto_process_track(fd_perfetto_writer *w, uint32_t process,
                          uint32_t *track)
{
    while (w->processes.count <= process) {
        if (fd_vector_push(&w->processes, (fd_perfetto_process){0, 0})
            != FD_OK) {
            return FD_ENOMEM;
        }
    }
    fd_perfetto_process *p = &w->processes.list[process];
    p->track = p->track != 0 ? p->track : w->spare->track++;
    *track = p->track;
    return FD_OK;
}

/* Find the thread of an event, and its track. Viewers show an event without a
 * tid on the main thread. */
static fd_status
find_track(storing *t)
{
    static const char zero[] = "0";
    fd_perfetto_writer *w = t->w;
    fd_span tid = t->event->tid.from != NULL ? t->event->tid
                : t->event->pid.from != NULL ? t->event->pid
                                             : (fd_span){zero, zero + 1};
    fd_status status = fd_timeline_ids_thread(
        t->ids, t->ids->processes.list[t->process].pid, tid, &t->thread);
    while (status == FD_OK && w->threads.count <= t->thread) {
        fd_perfetto_thread made = {.track = w->spare->track++,
                                   .process = t->process};
        status = fd_vector_push(&w->threads, made);
    }
    t->track = status == FD_OK ? w->threads.list[t->thread].track : 0;
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
    return fd_then(status, fd_text_pool_add(&w->stored, value.from,
                                            fd_span_size(value), stored));
}

static fd_status
take_row(storing *t)
{
    fd_perfetto_writer *w = t->w;
    fd_span what = t->event->name.from != NULL ? fd_span_inside(t->event->name)
                                               : (fd_span){"", ""};
    if (fd_span_is(what, "process_labels")) {
        uint32_t track;
        fd_status status = fd_perfetto_process_track(w, t->process, &track);
        return fd_then(
            status,
            keep_value(t, "labels", &w->processes.list[t->process].labels));
    }
    bool names = fd_span_is(what, "thread_name");
    if (!names && !fd_span_is(what, "thread_sort_index")) {
        w->skipped++;
        return FD_OK;
    }
    fd_status status = find_track(t);
    fd_perfetto_thread *thread = &w->threads.list[t->thread];
    if (status == FD_OK && names) {
        thread->beside = t->event->beside;
        status = keep_value(t, "name", &thread->name);
    }
    fd_span value;
    int64_t thousandths;
    if (status == FD_OK && !names
        && fd_timeline_find(t->event, "sort_index", &value)
        && fd_decimal_ns(fd_span_inside(value), &thousandths)) {
        thread->sorted = true;
        thread->sort_index = thousandths / 1000;
    }
    return status;
}

/* Begin a record: the body of the event is appended to it. */
static void
record_begin(storing *t, fd_perfetto_what what, uint32_t number,
             uint64_t duration)
{
    uint8_t head[24];
    uint8_t *end = head;
    *end++ = (uint8_t)what;
    end = fd_proto_put(end, number);
    end = fd_proto_put(end, duration);
    t->w->record.size = 0;
    fd_buffer_bytes(&t->w->record, head, (size_t)(end - head));
}

static fd_status
record_end(storing *t, uint64_t second)
{
    const fd_buffer *record = &t->w->record;
    return record->status == FD_OK
             ? fd_sorter_add(t->w->sorter, t->event->start, second,
                             record->bytes, record->size, t->error)
             : record->status;
}

static fd_status
put_category(storing *t)
{
    const fd_timeline_event *event = t->event;
    fd_perfetto_texts *texts = &t->w->texts;
    fd_span text = event->cat.from != NULL
                     ? fd_perfetto_spell(texts, event->cat)
                     : event->cat;
    return fd_span_size(text) > 0
             ? fd_perfetto_text(&texts->categories, text, event->cat_id,
                                FD_PB_EVENT_CATEGORY_IID, FD_PB_EVENT_CATEGORY,
                                &t->w->record)
             : FD_OK;
}

static fd_status
put_name(storing *t)
{
    static const char unnamed[] = "[No name]";
    const fd_timeline_event *event = t->event;
    fd_perfetto_texts *texts = &t->w->texts;
    fd_span name = event->name.from != NULL
                     ? fd_perfetto_spell(texts, event->name)
                     : (fd_span){unnamed, unnamed + sizeof unnamed - 1};
    return fd_perfetto_text(&texts->names, name, event->name_id,
                            FD_PB_EVENT_NAME_IID, FD_PB_EVENT_NAME,
                            &t->w->record);
}

/* Append category and name. */
static fd_status
put_title(storing *t)
{
    const fd_perfetto_texts *texts = &t->w->texts;
    uint32_t category =
        fd_perfetto_text_known(&texts->categories, t->event->cat_id);
    uint32_t name = fd_perfetto_text_known(&texts->names, t->event->name_id);
    if (category != 0 && name != 0) {
        uint8_t ids[24];
        uint8_t *end =
            fd_proto_put_field(ids, FD_PB_EVENT_CATEGORY_IID, category);
        end = fd_proto_put_field(end, FD_PB_EVENT_NAME_IID, name);
        fd_buffer_bytes(&t->w->record, ids, (size_t)(end - ids));
        return FD_OK;
    }
    fd_status status = put_category(t);
    return fd_then(status, put_name(t));
}

static fd_status
put_args(storing *t)
{
    return fd_perfetto_notes(&t->w->texts, t->event->args, &t->w->record);
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
    fd_proto_message(&t->w->record, FD_PB_EVENT_LEGACY, legacy);
}

/* Return the duration of a complete slice; its end is a valid time. */
static int64_t
duration_of(const fd_timeline_event *event)
{
    int64_t most = INT64_MAX - 1 - (event->start > 0 ? event->start : 0);
    int64_t duration =
        event->has_duration && event->duration > 0 ? event->duration : 0;
    return duration < most ? duration : most;
}

/* Store a begin, an end or a complete slice. Complete slices at the same time
 * are sorted from the longest. */
static fd_status
take_slice(storing *t)
{
    char phase = t->event->phase;
    uint64_t duration = phase == 'X' ? (uint64_t)duration_of(t->event) : 0;
    uint64_t longest = SECOND_SLICE - 1;
    uint64_t shorter = duration < longest ? longest - duration : 0;
    fd_status status = find_track(t);
    record_begin(t,
                 phase == 'X'   ? FD_PERFETTO_SLICE
                 : phase == 'B' ? FD_PERFETTO_BEGIN
                                : FD_PERFETTO_END,
                 t->thread, duration);
    if (status == FD_OK && phase != 'E') {
        t->w->threads.list[t->thread].uses++;
        status = put_title(t);
        put_binding(t);
    }
    fd_then(status, put_args(t));
    return status == FD_OK
             ? record_end(t, phase == 'X' ? SECOND_SLICE | shorter : 0)
             : status;
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
        status = find_track(t);
    }
    record_begin(t, FD_PERFETTO_INSTANT, t->track, 0);
    fd_then(status, put_title(t));
    fd_then(status, put_args(t));
    return fd_then(status, record_end(t, SECOND_POINT));
}

/* Append the name of a series: "<process>:<name> [id: <id>] <key>", without the
 * key "value". */
static void
put_series(storing *t, fd_span key, fd_buffer *title)
{
    fd_perfetto_writer *w = t->w;
    fd_span parts[3] = {
        t->event->name, fd_timeline_id(t->event), {key.from - 1, key.to + 1}};
    title->size = 0;
    fd_buffer_format(title, "%u:", (unsigned)t->process);
    for (int i = 0; i < 3; i++) {
        if (parts[i].from != NULL && !(i == 2 && fd_span_is(key, "value"))) {
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

static bool
put_value(storing *t, fd_span value)
{
    return fd_perfetto_number(fd_span_inside(value), FD_PB_EVENT_COUNTER,
                              FD_PB_EVENT_DOUBLE_COUNTER, &t->w->record);
}

/* Store a value of a series. A series without a number gets no track. */
static fd_status
take_value(storing *t, fd_span key, fd_span value)
{
    uint32_t track;
    if (!put_value(t, value)) {
        t->w->skipped++;
        return FD_OK;
    }
    fd_status status = find_series(t, key, &track);
    record_begin(t, FD_PERFETTO_COUNTER, track, 0);
    put_value(t, value);
    return fd_then(status, record_end(t, SECOND_POINT));
}

static fd_status
take_counters(storing *t)
{
    fd_span object = t->event->args;
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
    fd_status status = find_track(t);
    record_begin(t, FD_PERFETTO_LEGACY, t->track, 0);
    fd_then(status, put_title(t));
    legacy->size = 0;
    fd_proto_number(legacy, FD_PB_LEGACY_PHASE, (uint64_t)t->event->phase);
    if (status == FD_OK && !put_id(t, legacy)) {
        w->skipped++;
        return FD_OK;
    }
    if (t->event->phase == 'f' && t->event->encloses) {
        fd_proto_number(legacy, FD_PB_LEGACY_BINDS_ENCLOSING, 1);
    }
    fd_proto_message(&w->record, FD_PB_EVENT_LEGACY, legacy);
    fd_then(status, put_args(t));
    return fd_then(status, record_end(t, SECOND_POINT));
}

static fd_status
take_event(storing *t)
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
    case 'n':
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

fd_status
fd_perfetto_writer_event(fd_perfetto_writer *w, const fd_timeline_event *event,
                         fd_timeline_ids *ids, fd_error *error)
{
    storing t = {.w = w, .event = event, .ids = ids, .error = error};
    bool taken = false;
    fd_status status = fd_timeline_ids_take(ids, event, &t.process, &taken);
    if (status != FD_OK || taken) {
        return status;
    }
    if (event->phase != 'M' && !event->has_start) {
        return FD_EFORMAT;
    }
    return take_event(&t);
}
