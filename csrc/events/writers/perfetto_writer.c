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

enum {
    MEMORY = 1 << 30, /* budget of the sorter if the output stays in memory */
    SERIES = 1 << 16, /* counter series per input */
    ROWS = 16 << 20   /* bytes of stored names and labels */
};

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
fd_perfetto_forget(fd_perfetto_writer *w)
{
    fd_perfetto_texts_clear(&w->in.texts);
    fd_text_pool_clear(&w->in.stored);
    fd_text_pool_clear(&w->in.series);
    fd_arena_clear(&w->in.arena);
    w->in = (fd_perfetto_input){.skipped = 0};
}

void
fd_perfetto_writer_free(fd_perfetto_writer *w)
{
    if (w != NULL) {
        fd_perfetto_forget(w);
        fd_sorter_free(w->sorter);
        fd_buffer_clear(&w->record);
        fd_buffer_clear(&w->scratch);
        fd_free(w);
    }
}

uint32_t
fd_perfetto_process_track(fd_perfetto_writer *w, uint32_t process)
{
    while (w->in.processes.count <= process) {
        fd_arena_push(&w->in.arena, &w->in.processes,
                      (fd_perfetto_process){0, 0});
    }
    fd_perfetto_process *p = &w->in.processes.list[process];
    p->track = p->track != 0 ? p->track : w->spare->track++;
    return p->track;
}

/* Find the thread of an event, and its track. Viewers show an event without a
 * tid on the main thread. */
static void
find_track(fd_perfetto_writer *w)
{
    const fd_timeline_event *event = w->event;
    fd_span tid = event->tid.from != NULL ? event->tid
                : event->pid.from != NULL ? event->pid
                                          : fd_span_text("0");
    fd_arena_check(
        &w->in.arena,
        fd_timeline_ids_thread(w->ids, w->ids->processes.list[w->process].pid,
                               tid, &w->thread));
    while (w->in.threads.count <= w->thread) {
        fd_arena_push(&w->in.arena, &w->in.threads,
                      (fd_perfetto_thread){.track = w->spare->track++,
                                           .process = w->process});
    }
    w->track = w->in.threads.list[w->thread].track;
}

/* Store the text of a metadata row. */
static void
keep_value(fd_perfetto_writer *w, const char *name, uint32_t *stored)
{
    fd_span value;
    if (!fd_timeline_find(w->event, name, &value)
        || !fd_buffer_fits(&w->in.stored.bytes, fd_span_size(value),
                           fd_budget(ROWS))) {
        w->in.skipped++;
        return;
    }
    value = fd_perfetto_spell(&w->in.texts, value);
    fd_arena_check(&w->in.arena,
                   fd_text_pool_add(&w->in.stored, value.from,
                                    fd_span_size(value), stored));
}

static void
take_row(fd_perfetto_writer *w)
{
    fd_span value;
    int64_t thousandths;
    fd_span what = w->event->name.from != NULL ? fd_span_inside(w->event->name)
                                               : fd_span_text("");
    if (fd_span_is(what, "process_labels")) {
        fd_perfetto_process_track(w, w->process);
        keep_value(w, "labels", &w->in.processes.list[w->process].labels);
    }
    else if (fd_span_is(what, "thread_name")) {
        find_track(w);
        fd_perfetto_thread *thread = &w->in.threads.list[w->thread];
        thread->beside = w->event->beside;
        keep_value(w, "name", &thread->name);
    }
    else if (!fd_span_is(what, "thread_sort_index")) {
        w->in.skipped++;
    }
    else {
        find_track(w);
        fd_perfetto_thread *thread = &w->in.threads.list[w->thread];
        if (fd_timeline_find(w->event, "sort_index", &value)
            && fd_decimal_ns(fd_span_inside(value), &thousandths)) {
            thread->sorted = true;
            thread->sort_index = thousandths / 1000;
        }
    }
}

/* Begin a record: the body of the event is appended to it. */
static void
record_begin(fd_perfetto_writer *w, fd_perfetto_what what, uint32_t number,
             uint64_t duration)
{
    w->record.size = 0;
    uint8_t *at = (uint8_t *)fd_buffer_grow(&w->record, 24);
    if (at != NULL) {
        *at = (uint8_t)what;
        uint8_t *end = fd_proto_put(fd_proto_put(at + 1, number), duration);
        w->record.size = (size_t)(end - at);
    }
}

static void
record_end(fd_perfetto_writer *w, uint64_t second)
{
    fd_arena *arena = &w->in.arena;
    fd_arena_check(arena, w->record.status);
    fd_arena_check(arena, fd_sorter_add(w->sorter, w->event->start, second,
                                        w->record.bytes, w->record.size,
                                        arena->error));
}

/* Append category and name. */
static void
put_title(fd_perfetto_writer *w)
{
    const fd_timeline_event *event = w->event;
    if (event->cat.from != NULL
        && fd_span_size(fd_span_inside(event->cat)) > 0) {
        fd_perfetto_text(&w->in.texts, FD_PERFETTO_CATEGORIES, event->cat,
                         event->cat_id, &w->record);
    }
    fd_perfetto_text(&w->in.texts, FD_PERFETTO_NAMES,
                     event->name.from != NULL ? event->name
                                              : fd_span_text("[No name]"),
                     event->name_id, &w->record);
}

static void
put_args(fd_perfetto_writer *w)
{
    fd_perfetto_notes(&w->in.texts, w->event->args, &w->record);
}

/* Append the flow of a slice with a bind_id. */
static void
put_binding(fd_perfetto_writer *w)
{
    bool in = w->event->flow_in;
    bool out = w->event->flow_out;
    size_t from = w->record.size;
    if (w->event->bind_id.from != NULL && (in || out)) {
        fd_proto_number(&w->record, FD_PB_LEGACY_BIND_ID,
                        fd_timeline_ids_number(w->ids, w->event->bind_id));
        fd_proto_number(&w->record, FD_PB_LEGACY_DIRECTION,
                        (uint64_t)in | (uint64_t)out << 1);
        fd_proto_wrap(&w->record, FD_PB_EVENT_LEGACY, from);
    }
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
static void
take_slice(fd_perfetto_writer *w)
{
    char phase = w->event->phase;
    uint64_t duration = phase == 'X' ? (uint64_t)duration_of(w->event) : 0;
    uint64_t longest = SECOND_SLICE - 1;
    uint64_t shorter = duration < longest ? longest - duration : 0;
    find_track(w);
    record_begin(w,
                 phase == 'X'   ? FD_PERFETTO_SLICE
                 : phase == 'B' ? FD_PERFETTO_BEGIN
                                : FD_PERFETTO_END,
                 w->thread, duration);
    if (phase != 'E') {
        w->in.threads.list[w->thread].uses++;
        put_title(w);
        put_binding(w);
    }
    put_args(w);
    record_end(w, phase == 'X' ? SECOND_SLICE | shorter : 0);
}

static void
take_instant(fd_perfetto_writer *w)
{
    char scope = w->event->phase != 'R' ? w->event->scope : '\0';
    if (scope == 'g') {
        w->in.global = w->in.global != 0 ? w->in.global : w->spare->track++;
        w->track = w->in.global;
    }
    else if (scope == 'p') {
        w->track = fd_perfetto_process_track(w, w->process);
    }
    else {
        find_track(w);
    }
    record_begin(w, FD_PERFETTO_INSTANT, w->track, 0);
    put_title(w);
    put_args(w);
    record_end(w, SECOND_POINT);
}

/* Append the name of a series: "<process>:<name> [id: <id>] <key>", without the
 * key "value". */
static void
put_series(fd_perfetto_writer *w, fd_span key, fd_buffer *title)
{
    fd_span parts[3] = {
        w->event->name, fd_timeline_id(w->event), {key.from - 1, key.to + 1}};
    title->size = 0;
    fd_buffer_format(title, "%u:", (unsigned)w->process);
    for (int i = 0; i < 3; i++) {
        if (parts[i].from != NULL && !(i == 2 && fd_span_is(key, "value"))) {
            fd_span text = fd_perfetto_spell(&w->in.texts, parts[i]);
            fd_buffer_text(title, i == 1 ? " id: " : i == 2 ? " " : "");
            fd_buffer_bytes(title, text.from, fd_span_size(text));
        }
    }
    fd_arena_check(&w->in.arena, title->status);
}

/* Find or add the track of a counter series. */
static uint32_t
find_series(fd_perfetto_writer *w, fd_span key)
{
    fd_perfetto_input *in = &w->in;
    fd_buffer *title = &w->scratch;
    uint32_t made;
    put_series(w, key, title);
    if (in->series.texts.count >= fd_budget(SERIES)) {
        fd_arena_fail(&in->arena, FD_EFULL);
    }
    fd_arena_check(&in->arena, fd_text_pool_add(&in->series, title->bytes,
                                                title->size, &made));
    while (in->counters.count <= made) {
        uint32_t track = in->counters.count > 0 ? w->spare->track++ : 0;
        fd_arena_push(&in->arena, &in->counters,
                      (fd_perfetto_one_series){track, w->process});
    }
    return in->counters.list[made].track;
}

static bool
put_value(fd_perfetto_writer *w, fd_span value)
{
    return fd_perfetto_number(fd_span_inside(value), FD_PB_EVENT_COUNTER,
                              FD_PB_EVENT_DOUBLE_COUNTER, &w->record);
}

/* Store a value of a series. A series without a number gets no track. */
static void
take_value(fd_perfetto_writer *w, fd_span key, fd_span value)
{
    if (!put_value(w, value)) {
        w->in.skipped++;
        return;
    }
    record_begin(w, FD_PERFETTO_COUNTER, find_series(w, key), 0);
    put_value(w, value);
    record_end(w, SECOND_POINT);
}

static void
take_counters(fd_perfetto_writer *w)
{
    fd_span object = w->event->args;
    fd_scan scan = {.at = object.from, .end = object.to, .forgets = true};
    fd_span key;
    if (object.from == NULL || fd_scan_mark(&scan, '{') != FD_SCAN_OK) {
        w->in.skipped++;
        return;
    }
    fd_perfetto_process_track(w, w->process);
    for (bool first = true; fd_scan_member(&scan, first, &key) == FD_SCAN_OK;
         first = false) {
        const char *from = scan.at;
        if (fd_scan_value(&scan) != FD_SCAN_OK) {
            fd_arena_fail(&w->in.arena, FD_EFORMAT);
        }
        take_value(w, key, (fd_span){from, scan.at});
    }
}

/* Store a flow or an asynchronous event as a legacy event of Perfetto. The
 * field number of its id is the scope of the id. */
static void
take_joined(fd_perfetto_writer *w)
{
    const fd_timeline_event *event = w->event;
    fd_span id = fd_timeline_id(event);
    uint32_t field = event->local_id.from != NULL  ? FD_PB_LEGACY_LOCAL_ID
                   : event->global_id.from != NULL ? FD_PB_LEGACY_GLOBAL_ID
                                                   : FD_PB_LEGACY_ID;
    find_track(w);
    record_begin(w, FD_PERFETTO_LEGACY, w->track, 0);
    put_title(w);
    if (id.from == NULL) {
        w->in.skipped++;
        return;
    }
    size_t from = w->record.size;
    fd_proto_number(&w->record, FD_PB_LEGACY_PHASE, (uint64_t)event->phase);
    fd_proto_number(&w->record, field, fd_timeline_ids_number(w->ids, id));
    if (event->phase == 'f' && event->encloses) {
        fd_proto_number(&w->record, FD_PB_LEGACY_BINDS_ENCLOSING, 1);
    }
    fd_proto_wrap(&w->record, FD_PB_EVENT_LEGACY, from);
    put_args(w);
    record_end(w, SECOND_POINT);
}

static void
take_event(fd_perfetto_writer *w)
{
    char phase = w->event->phase;
    if (phase == 'X' || phase == 'B' || phase == 'E') {
        take_slice(w);
    }
    else if (phase == 'M') {
        take_row(w);
    }
    else if (phase == 'C') {
        take_counters(w);
    }
    else if (phase == 'i' || phase == 'I' || phase == 'R') {
        take_instant(w);
    }
    else if (phase != '\0' && strchr("benstfSTpF", phase) != NULL) {
        take_joined(w);
    }
    else {
        w->in.skipped++;
    }
}

fd_status
fd_perfetto_writer_event(fd_perfetto_writer *w, const fd_timeline_event *event,
                         fd_timeline_ids *ids, fd_error *error)
{
    bool taken = false;
    fd_status status = fd_timeline_ids_take(ids, event, &w->process, &taken);
    if (status != FD_OK || taken) {
        return status;
    }
    if (event->phase != 'M' && !event->has_start) {
        return FD_EFORMAT;
    }
    w->event = event;
    w->ids = ids;
    w->in.texts.arena = &w->in.arena;
    if (fd_arena_caught(&w->in.arena, error)) {
        return w->in.arena.status;
    }
    take_event(w);
    return fd_arena_left(&w->in.arena);
}
