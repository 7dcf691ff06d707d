#include "events/chrome_event.h"

#include "graphs/graph_text.h"
#include "json/decimal.h"

#include <string.h>

/* Phases whose `id` joins events. Other ids (counters, objects) count within
 * their process. */
static const char JOINED[] = "stfbneSTFp";

static void
note(fd_timeline_event *event, fd_timeline_kind kind, fd_span value)
{
    if (event->count < FD_TIMELINE_FIELDS) {
        event->fields[event->count++] = (fd_timeline_field){kind, value};
    }
}

/* {"local": id} or {"global": id} */
static void
note_id2(fd_timeline_event *event, fd_span object)
{
    fd_span local;
    fd_span global;
    bool has_local = fd_scan_find(object, "local", &local);
    bool has_global = fd_scan_find(object, "global", &global);
    if (has_global && (!has_local || global.from < local.from)) {
        note(event, FD_TIMELINE_ID, global);
        has_global = false;
    }
    if (has_local) {
        note(event, FD_TIMELINE_ID, local);
    }
    if (has_global) {
        note(event, FD_TIMELINE_ID, global);
    }
}

/* Keys of two letters. */
static void
note_pair(fd_timeline_event *event, const char *k, fd_span value)
{
    if (k[0] == 'p' && k[1] == 'h') {
        fd_span inside = fd_span_inside(value);
        event->phase = fd_span_size(inside) == 1 ? *inside.from : 0;
    }
    else if (k[0] == 't' && k[1] == 's') {
        event->ts = value;
        note(event, FD_TIMELINE_TS, value);
    }
    else if (k[0] == 'i' && k[1] == 'd') {
        note(event, FD_TIMELINE_ID, value);
    }
    else if (k[0] == 'b' && k[1] == 'p') {
        event->binds = value;
    }
}

static void
note_member(fd_timeline_event *event, fd_span key, fd_span value)
{
    const char *k = key.from;
    switch (fd_span_size(key)) {
    case 1:
        if (*k == 's') {
            event->scope = value;
        }
        break;
    case 2:
        note_pair(event, k, value);
        break;
    case 3:
        if (memcmp(k, "dur", 3) == 0) {
            event->dur = value;
            note(event, FD_TIMELINE_DUR, value);
        }
        else if (memcmp(k, "pid", 3) == 0) {
            event->pid = value;
            note(event, FD_TIMELINE_PID, value);
        }
        else if (memcmp(k, "tid", 3) == 0) {
            event->tid = value;
            note(event, FD_TIMELINE_TID, value);
        }
        else if (memcmp(k, "id2", 3) == 0) {
            note_id2(event, value);
        }
        else if (memcmp(k, "cat", 3) == 0) {
            event->cat = value;
        }
        break;
    case 4:
        if (memcmp(k, "name", 4) == 0) {
            event->name = value;
            note(event, FD_TIMELINE_NAMED, value);
        }
        else if (memcmp(k, "args", 4) == 0) {
            event->args = value;
        }
        break;
    case 7:
        if (memcmp(k, "bind_id", 7) == 0) {
            note(event, FD_TIMELINE_BIND_ID, value);
        }
        break;
    default:
        break;
    }
}

fd_scan_result
fd_timeline_event_scan(fd_scan *scan, fd_timeline_event *event)
{
    event->whole.from = scan->at;
    event->empty = true;
    event->phase = 0;
    event->count = 0;
    event->name = event->cat = event->args = event->pid = event->tid =
        (fd_span){NULL, NULL};
    event->ts = event->dur = event->scope = event->binds = event->pid;
    fd_scan_result result = fd_scan_mark(scan, '{');
    while (result == FD_SCAN_OK) {
        fd_span key;
        result = fd_scan_member(scan, event->empty, &key);
        if (result == FD_SCAN_OK) {
            event->empty = false;
            const char *from = scan->at;
            result = fd_scan_value(scan);
            note_member(event, key, (fd_span){from, scan->at});
        }
    }
    event->whole.to = scan->at;
    return result == FD_SCAN_DONE ? FD_SCAN_OK : result;
}

/* One event on its way out. */
typedef struct writing {
    const fd_timeline_event *event;
    const fd_scan *scan;
    const fd_clock_map *clock;
    fd_timeline_ids *ids;
    uint32_t pid;
    fd_buffer *to;
} writing;

/* What is added to a time, in whole nanoseconds: digits below stay. */
static int64_t
shift_at(const writing *w, int64_t ns)
{
    int64_t shift;
    return __builtin_sub_overflow(fd_clock_apply(w->clock, ns), ns, &shift)
             ? 0
             : shift;
}

/* Programs give rows about processes a time of 0: that may not go below. */
static fd_status
write_ts(writing *w, fd_span value)
{
    int64_t ns = 0;
    bool quoted = *value.from == '"';
    size_t before = w->to->size;
    fd_buffer_bytes(w->to, "\"", quoted);
    size_t from = w->to->size;
    if ((w->clock->drift_ppt != 0
         && !fd_decimal_ns(fd_span_inside(value), &ns))
        || !fd_decimal_shift(fd_span_inside(value), shift_at(w, ns), w->to)) {
        w->to->size = before;
        return FD_EFORMAT;
    }
    if (w->event->phase == 'M' && w->to->status == FD_OK
        && w->to->bytes[from] == '-') {
        w->to->size = from;
        fd_buffer_text(w->to, "0");
    }
    fd_buffer_bytes(w->to, "\"", quoted);
    return FD_OK;
}

/* The end of a slice is a time too: where clocks drift its length is as much
 * longer or shorter, or slices would no longer nest. */
static void
write_dur(writing *w, fd_span value)
{
    int64_t ts;
    int64_t dur;
    bool quoted = *value.from == '"';
    size_t before = w->to->size;
    fd_buffer_bytes(w->to, "\"", quoted);
    if (!fd_decimal_ns(fd_span_inside(w->event->ts), &ts)
        || !fd_decimal_ns(fd_span_inside(value), &dur) || dur < 0
        || ts > INT64_MAX - dur
        || !fd_decimal_shift(fd_span_inside(value),
                             shift_at(w, ts + dur) - shift_at(w, ts), w->to)) {
        w->to->size = before;
        fd_scan_copy(w->scan, value, w->to);
        return;
    }
    fd_buffer_bytes(w->to, "\"", quoted);
}

static fd_status
write_tid(writing *w, fd_span value)
{
    uint32_t place;
    fd_status status =
        fd_timeline_ids_thread(w->ids, w->pid, value, w->scan, &place);
    if (status == FD_OK) {
        fd_timeline_thread *thread = &w->ids->threads.list[place];
        thread->named =
            thread->named
            || (w->event->phase == 'M' && w->event->name.from != NULL
                && fd_span_is(fd_span_inside(w->event->name), "thread_name"));
        fd_buffer_u64(w->to, thread->tid);
    }
    return status;
}

static void
copy(writing *w, const char *from, const char *to)
{
    if (w->scan->repairs.count > 0) {
        fd_scan_copy(w->scan, (fd_span){from, to}, w->to);
    }
    else {
        fd_buffer_bytes(w->to, from, (size_t)(to - from));
    }
}

/* Jobs of ours have their duration in the name already. */
static bool
says_duration(const fd_timeline_event *event)
{
    static const char end[] = " ms)\"";
    enum { SIZE = sizeof end - 1 };
    return event->cat.from != NULL && fd_span_is(event->cat, "\"job\"")
        && fd_span_size(event->name) > SIZE
        && memcmp(event->name.to - SIZE, end, SIZE) == 0;
}

static bool
is_named(const writing *w, int64_t *duration)
{
    const fd_timeline_event *event = w->event;
    return w->ids->named_durations && event->phase == 'X'
        && !says_duration(event) && *event->name.from == '"'
        && event->dur.from != NULL
        && fd_decimal_ns(fd_span_inside(event->dur), duration)
        && *duration >= 0;
}

/* "forward (12.3 ms)" */
static void
write_name(writing *w, fd_span value)
{
    int64_t duration = 0;
    is_named(w, &duration);
    copy(w, value.from, value.to - 1);
    fd_buffer_text(w->to, " (");
    fd_text_time(w->to, (uint64_t)duration);
    fd_buffer_text(w->to, ")\"");
}

static fd_status
write_field(writing *w, const fd_timeline_field *field)
{
    switch (field->kind) {
    case FD_TIMELINE_PID:
        fd_buffer_u64(w->to, w->pid);
        return FD_OK;
    case FD_TIMELINE_TS:
        return write_ts(w, field->value);
    case FD_TIMELINE_DUR:
        write_dur(w, field->value);
        return FD_OK;
    case FD_TIMELINE_TID:
        return write_tid(w, field->value);
    case FD_TIMELINE_NAMED:
        write_name(w, field->value);
        return FD_OK;
    case FD_TIMELINE_ID:
    case FD_TIMELINE_BIND_ID:
        break;
    }
    fd_timeline_ids_flow(w->ids, field->value, w->to);
    return FD_OK;
}

static bool
stays(const writing *w, const fd_timeline_field *field)
{
    char phase = w->event->phase;
    int64_t duration;
    switch (field->kind) {
    case FD_TIMELINE_TS:
        return w->clock->offset_ns == 0 && w->clock->drift_ppt == 0;
    case FD_TIMELINE_DUR:
        return w->clock->drift_ppt == 0 || w->event->ts.from == NULL;
    case FD_TIMELINE_ID:
        return phase == 0 || strchr(JOINED, phase) == NULL;
    case FD_TIMELINE_NAMED:
        return !is_named(w, &duration);
    case FD_TIMELINE_PID:
    case FD_TIMELINE_TID:
    case FD_TIMELINE_BIND_ID:
        break;
    }
    return false;
}

static fd_status
write_fields(writing *w)
{
    const fd_timeline_event *event = w->event;
    const char *at = event->whole.from;
    fd_buffer_text(w->to, ",\n");
    if (event->pid.from == NULL) {
        fd_buffer_text(w->to, "{\"pid\":");
        fd_buffer_u64(w->to, w->pid);
        fd_buffer_text(w->to, event->empty ? "" : ",");
        at++;
    }
    for (uint32_t i = 0; i < event->count; i++) {
        const fd_timeline_field *field = &event->fields[i];
        if (!stays(w, field)) {
            copy(w, at, field->value.from);
            fd_status status = write_field(w, field);
            if (status != FD_OK) {
                return status;
            }
            at = field->value.to;
        }
    }
    copy(w, at, event->whole.to);
    return w->to->status;
}

/* The row is kept in the table of processes and written with it. */
static bool
take_over(const fd_timeline_event *event, const fd_scan *scan,
          fd_timeline_ids *ids, uint32_t process, fd_status *status)
{
    fd_span value;
    int64_t thousandths;
    fd_span what = fd_span_inside(event->name);
    if (event->phase != 'M' || event->args.from == NULL
        || event->name.from == NULL) {
        return false;
    }
    if (fd_span_is(what, "process_name")
        && fd_scan_find(event->args, "name", &value)) {
        *status = fd_timeline_ids_name(ids, process, value, scan);
        return true;
    }
    if (fd_span_is(what, "process_sort_index")
        && fd_scan_find(event->args, "sort_index", &value)
        && fd_decimal_ns(fd_span_inside(value), &thousandths)) {
        ids->processes.list[process].sort_index = thousandths;
        ids->processes.list[process].sorted = true;
        return true;
    }
    return fd_span_is(what, "process_name")
        || fd_span_is(what, "process_sort_index");
}

/* Viewers take an event without a pid as one of process 0. */
static fd_status
find_process(const fd_timeline_event *event, const fd_scan *scan,
             fd_timeline_ids *ids, uint32_t *process)
{
    static const char zero[] = "0";
    fd_span pid =
        event->pid.from != NULL ? event->pid : (fd_span){zero, zero + 1};
    return fd_timeline_ids_process(ids, pid, scan, process);
}

fd_status
fd_timeline_event_drop(const fd_timeline_event *row, const fd_scan *scan,
                       fd_timeline_ids *ids)
{
    uint32_t process;
    fd_status status = find_process(row, scan, ids, &process);
    if (status == FD_OK) {
        ids->processes.list[process].dropped = true;
    }
    return status == FD_EFULL ? FD_OK : status;
}

fd_status
fd_timeline_event_process(const fd_timeline_event *event, const fd_scan *scan,
                          fd_timeline_ids *ids, uint32_t *process, bool *taken)
{
    fd_status status = find_process(event, scan, ids, process);
    *taken = status == FD_OK && take_over(event, scan, ids, *process, &status);
    return status;
}

fd_status
fd_timeline_event_write(const fd_timeline_event *event, const fd_scan *scan,
                        const fd_clock_map *clock, fd_timeline_ids *ids,
                        fd_buffer *to)
{
    uint32_t process;
    bool taken;
    fd_status status =
        fd_timeline_event_process(event, scan, ids, &process, &taken);
    if (status != FD_OK || taken) {
        return status;
    }
    size_t before = to->size;
    writing w = {event, scan, clock, ids, ids->processes.list[process].pid,
                 to};
    status = write_fields(&w);
    if (status != FD_OK) {
        to->size = before;
    }
    return status;
}
