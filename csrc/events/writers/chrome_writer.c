#include "events/writers/chrome_writer.h"

#include "json/decimal.h"

#include <string.h>

/* Phases whose `id` joins events. Ids of other phases (counters, objects) are
 * local to their process. */
static const char JOINED[] = "stfbneSTFp";

static const fd_clock_map SAME = {.offset_ns = 0};

/* An event being written. */
typedef struct writing {
    const fd_timeline_event *event;
    const fd_clock_map *clock;
    fd_timeline_ids *ids; /* NULL: keep the original ids */
    uint32_t process;
    fd_buffer *to;
} writing;

/* Inline, so that the length of the key is a constant. */
static inline __attribute__((always_inline)) void
put_member(writing *w, const char *key, fd_span value)
{
    if (value.from != NULL) {
        fd_buffer_bytes(w->to, key, strlen(key));
        fd_buffer_bytes(w->to, value.from, fd_span_size(value));
    }
}

/* Return the shift of a time in whole nanoseconds; smaller digits are kept. */
static int64_t
shift_at(const writing *w, int64_t ns)
{
    int64_t shift;
    return __builtin_sub_overflow(fd_clock_apply(w->clock, ns), ns, &shift)
             ? 0
             : shift;
}

static bool
is_shifted(const writing *w)
{
    return w->clock->offset_ns != 0 || w->clock->drift_ppt != 0;
}

/* Append a number of the file plus nanoseconds, with quotes if it
 * had quotes. */
static bool
put_shifted(writing *w, fd_span value, int64_t ns)
{
    bool quoted = *value.from == '"';
    fd_buffer_bytes(w->to, "\"", quoted);
    bool done = fd_decimal_shift(fd_span_inside(value), ns, w->to);
    fd_buffer_bytes(w->to, "\"", quoted);
    return done;
}

/* Append the start. The time of metadata rows is often 0 and must not become
 * negative. */
static fd_status
put_start(writing *w)
{
    const fd_timeline_event *event = w->event;
    if (event->ts.from == NULL && !event->has_start) {
        return FD_OK;
    }
    if (event->ts.from != NULL && !is_shifted(w)) {
        put_member(w, ",\"ts\":", event->ts);
        return FD_OK;
    }
    fd_buffer_text(w->to, ",\"ts\":");
    int64_t shift = shift_at(w, event->start);
    int64_t time = fd_clock_apply(w->clock, event->start);
    bool exact = event->exact || event->ts.from == NULL;
    if (event->phase == 'M' && event->has_start && time < 0) {
        fd_buffer_text(w->to, "0");
        return FD_OK;
    }
    if (exact && (event->ts.from == NULL || *event->ts.from != '"')) {
        fd_decimal_milli(event->start + shift, w->to);
        return FD_OK;
    }
    bool known = event->has_start || w->clock->drift_ppt == 0;
    return known && put_shifted(w, event->ts, shift) ? FD_OK : FD_EFORMAT;
}

/* Append the duration, so that the end is converted as a time: if the clock
 * drifts, the duration changes too, or slices would no longer nest. */
static void
put_duration(writing *w)
{
    const fd_timeline_event *event = w->event;
    int64_t end;
    bool drifts = w->clock->drift_ppt != 0 && event->has_start
               && event->has_duration && event->duration >= 0
               && !__builtin_add_overflow(event->start, event->duration, &end);
    int64_t longer = drifts ? shift_at(w, end) - shift_at(w, event->start) : 0;
    if (event->dur.from == NULL) {
        if (event->has_duration) {
            fd_buffer_text(w->to, ",\"dur\":");
            fd_decimal_milli(event->duration + longer, w->to);
        }
        return;
    }
    size_t before = w->to->size;
    fd_buffer_text(w->to, ",\"dur\":");
    if (!drifts || !put_shifted(w, event->dur, longer)) {
        w->to->size = before;
        put_member(w, ",\"dur\":", event->dur);
    }
}

static fd_status
put_thread(writing *w)
{
    uint32_t index;
    const fd_timeline_event *event = w->event;
    if (w->ids == NULL || event->tid.from == NULL) {
        put_member(w, ",\"tid\":", event->tid);
        return FD_OK;
    }
    uint32_t pid = w->ids->processes.list[w->process].pid;
    fd_status status = fd_timeline_ids_thread(w->ids, pid, event->tid, &index);
    if (status == FD_OK) {
        fd_timeline_thread *thread = &w->ids->threads.list[index];
        thread->named =
            thread->named
            || (event->phase == 'M'
                && fd_span_is(fd_timeline_text(event->name), "thread_name"));
        fd_buffer_text(w->to, ",\"tid\":");
        fd_buffer_u64(w->to, thread->tid);
    }
    return status;
}

static void
put_flow(writing *w, const char *key, fd_span id)
{
    bool joined =
        w->event->phase != 0 && strchr(JOINED, w->event->phase) != NULL;
    if (id.from == NULL || w->ids == NULL
        || (!joined && id.from != w->event->bind_id.from)) {
        put_member(w, key, id);
        return;
    }
    fd_buffer_text(w->to, key);
    fd_timeline_ids_flow(w->ids, id, w->to);
}

static void
put_ids(writing *w)
{
    const fd_timeline_event *event = w->event;
    put_flow(w, ",\"id\":", event->id);
    if (event->local_id.from != NULL) {
        put_flow(w, ",\"id2\":{\"local\":", event->local_id);
        put_flow(w, ",\"global\":", event->global_id);
        fd_buffer_text(w->to, "}");
    }
    else if (event->global_id.from != NULL) {
        put_flow(w, ",\"id2\":{\"global\":", event->global_id);
        fd_buffer_text(w->to, "}");
    }
    if (event->bind_id.from != NULL) {
        put_flow(w, ",\"bind_id\":", event->bind_id);
    }
    fd_buffer_text(w->to, event->flow_in ? ",\"flow_in\":true" : "");
    fd_buffer_text(w->to, event->flow_out ? ",\"flow_out\":true" : "");
}

/* Return whether the name includes the duration already, as in jobs of
 * recordings. */
static bool
says_duration(const fd_timeline_event *event)
{
    static const char end[] = " ms)\"";
    enum { SIZE = sizeof end - 1 };
    return event->cat.from != NULL && fd_span_is(event->cat, "\"job\"")
        && fd_span_size(event->name) > SIZE
        && memcmp(event->name.to - SIZE, end, SIZE) == 0;
}

/* Append "forward", or "forward (12.3 ms)". */
static void
put_name(writing *w)
{
    const fd_timeline_event *event = w->event;
    fd_span name = event->name;
    if (w->ids == NULL || !w->ids->named_durations || event->phase != 'X'
        || !fd_timeline_named(event) || says_duration(event)
        || !event->has_duration || event->duration < 0) {
        put_member(w, ",\"name\":", name);
        return;
    }
    name.to--;
    put_member(w, ",\"name\":", name);
    fd_buffer_text(w->to, " (");
    fd_buffer_time(w->to, (uint64_t)event->duration);
    fd_buffer_text(w->to, ")\"");
}

static void
begin_event(writing *w)
{
    const fd_timeline_event *event = w->event;
    char head[] = "{\"ph\":\"X\",\"pid\":";
    head[7] = event->phase;
    fd_buffer_text(w->to, event->phase != 0 ? head : "{\"pid\":");
    if (w->ids != NULL) {
        fd_buffer_u64(w->to, w->ids->processes.list[w->process].pid);
    }
    else {
        fd_buffer_bytes(w->to, event->pid.from, fd_span_size(event->pid));
    }
}

/* Begin an event that has no process. */
static void
begin_alone(writing *w)
{
    char phase = w->event->phase;
    fd_buffer_text(w->to, "{");
    if (phase != 0) {
        fd_buffer_format(w->to, "\"ph\":\"%c\"", phase);
    }
}

/* Append an object without its leading comma. */
static void
close_object(writing *w, size_t from)
{
    fd_buffer *to = w->to;
    if (to->status == FD_OK && to->size > from + 1
        && to->bytes[from + 1] == ',') {
        memmove(to->bytes + from + 1, to->bytes + from + 2,
                to->size - from - 2);
        to->size--;
    }
    fd_buffer_text(to, "}");
}

static fd_status
write_members(writing *w)
{
    const fd_timeline_event *event = w->event;
    size_t from = w->to->size;
    if (w->ids != NULL || event->pid.from != NULL) {
        begin_event(w);
    }
    else {
        begin_alone(w);
    }
    fd_status status = put_thread(w);
    fd_then(status, put_start(w));
    put_duration(w);
    put_ids(w);
    fd_buffer_text(w->to, event->encloses ? ",\"bp\":\"e\"" : "");
    if (event->scope != 0) {
        char scope[] = ",\"s\":\"t\"";
        scope[6] = event->scope;
        fd_buffer_text(w->to, scope);
    }
    put_name(w);
    put_member(w, ",\"cat\":", event->cat);
    put_member(w, ",\"args\":", event->args);
    put_member(w, "", event->rest);
    close_object(w, from);
    return fd_then(status, w->to->status);
}

void
fd_chrome_print(const fd_timeline_event *event, fd_buffer *to)
{
    writing w = {.event = event, .clock = &SAME, .to = to};
    write_members(&w);
}

fd_status
fd_chrome_write(const fd_timeline_event *event, const fd_clock_map *clock,
                fd_timeline_ids *ids, fd_buffer *to)
{
    bool taken;
    size_t before = to->size;
    writing w = {.event = event, .clock = clock, .ids = ids, .to = to};
    fd_status status = fd_timeline_ids_take(ids, event, &w.process, &taken);
    if (status != FD_OK || taken) {
        return status;
    }
    fd_buffer_text(to, ",\n");
    status = write_members(&w);
    if (status != FD_OK) {
        to->size = before;
    }
    return status;
}
