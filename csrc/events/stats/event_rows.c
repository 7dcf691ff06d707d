#include "events/stats/event_rows.h"

#include "base/budget.h"
#include "base/hash.h"
#include "events/recorded/events_from_recording.h"
#include "json/decimal.h"

#include <string.h>

enum { PROGRESS_STEP = 1 << 24 };

typedef struct reading {
    const fd_event_rows_request *request;
    fd_event_facts *facts;
    fd_row_batch batch;
    uint64_t reported;
    fd_error *error;
} reading;

static fd_status
stop_unless(bool goes_on, fd_error *error)
{
    return goes_on ? FD_OK : fd_fail(error, FD_EINVAL, "stopped");
}

void
fd_row_batch_clear(fd_row_batch *batch)
{
    fd_slice_texts_clear(&batch->texts);
    fd_vector_clear(&batch->rows);
}

fd_status
fd_row_batch_give(fd_row_batch *batch, fd_error *error)
{
    uint32_t count = batch->rows.count;
    batch->rows.count = 0;
    return stop_unless(count == 0
                           || batch->take(batch->context, batch->rows.list,
                                          count, &batch->texts.texts),
                       error);
}

fd_status
fd_row_batch_add(fd_row_batch *batch, fd_event_row row, fd_error *error)
{
    fd_status status = fd_vector_push(&batch->rows, row);
    return status == FD_OK && batch->rows.count >= fd_budget(FD_EVENT_ROWS)
             ? fd_row_batch_give(batch, error)
             : status;
}

static uint64_t
mix_hash(uint64_t seed, fd_span value)
{
    fd_span text = fd_timeline_text(value);
    uint64_t hash =
        text.from == NULL ? 1 : fd_hash_bytes(text.from, fd_span_size(text));
    return fd_hash_next(seed, hash) | 1; /* never 0 */
}

/* Return the hash of what joins an event to others: of a flow, its category,
 * name and id; of an asynchronous event, its category and id, which is an id
 * of its process or of the file. */
static uint64_t
track_of(const fd_timeline_event *event, bool flow)
{
    uint64_t seed = event->local_id.from != NULL ? mix_hash(4, event->pid) : 3;
    return mix_hash(flow ? mix_hash(mix_hash(2, event->cat), event->name)
                         : mix_hash(seed, event->cat),
                    fd_timeline_id(event));
}

static bool
is_empty(const fd_timeline_event *event)
{
    return event->phase == 0 && event->name.from == NULL
        && event->cat.from == NULL && event->pid.from == NULL
        && event->ts.from == NULL && event->args.from == NULL
        && event->rest.from == NULL;
}

static bool
is_odd(fd_span id)
{
    uint64_t number;
    return id.from != NULL
        && !(fd_span_u64(id, &number) && number <= UINT32_MAX);
}

/* Return whether there are arguments, all of them numbers. */
static bool
counts_only(fd_span args)
{
    fd_scan scan = {.at = args.from, .end = args.to, .forgets = true};
    fd_span key;
    int64_t number;
    bool first = true;
    if (args.from == NULL || fd_scan_mark(&scan, '{') != FD_SCAN_OK) {
        return false;
    }
    while (fd_scan_member(&scan, first, &key) == FD_SCAN_OK) {
        const char *from = scan.at;
        if (fd_scan_value(&scan) != FD_SCAN_OK || *from == '"'
            || !(fd_decimal_ns((fd_span){from, scan.at}, &number)
                 || (*from >= '0' && *from <= '9') || *from == '-')) {
            return false;
        }
        first = false;
    }
    return !first;
}

/* Describe a metadata row: the argument that it requires by its name. */
static void
describe_metadata(const fd_timeline_event *event, fd_event_row *row)
{
    static const char *const required[][2] = {
        {"process_name", "name"},
        {"thread_name", "name"},
        {"process_labels", "labels"},
        {"thread_sort_index", "sort_index"},
        {"process_sort_index", "sort_index"}};
    fd_span value = {NULL, NULL};
    fd_span what = fd_timeline_text(event->name);
    bool there = true;
    row->label = 0;
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (fd_timeline_named(event) && fd_span_is(what, required[i][0])) {
            there = fd_timeline_find(event, required[i][1], &value);
        }
    }
    if (there && fd_timeline_named(event)
        && fd_span_is(what, "process_name")) {
        there = *value.from == '"';
        row->flags |= there ? FD_ROW_PROCESS : 0;
        row->label =
            fd_span_size(fd_timeline_text(value)) > 0 ? mix_hash(0, value) : 0;
        row->flags |= fd_span_numbered(fd_timeline_text(value), "rank ", " ",
                                       &row->number)
                        ? FD_ROW_NUMBER
                        : 0;
    }
    row->flags |= there ? FD_ROW_ARGUMENT : 0;
}

/* Return the number of calls that an instant of a recording reports as lost. */
static uint64_t
lost_calls(const fd_timeline_event *event)
{
    static const char text[] = " events found no room";
    uint64_t number;
    bool reports =
        (event->phase == 'i' || event->phase == 'I')
        && fd_timeline_named(event)
        && fd_span_numbered(fd_span_inside(event->name), "", " ", &number)
        && memmem(event->name.from, fd_span_size(event->name), text,
                  sizeof text - 1)
               != NULL;
    return reports ? number : 0;
}

static bool
has_phase(const fd_timeline_event *event, const char *phases)
{
    return event->phase != 0 && strchr(phases, event->phase) != NULL;
}

static uint32_t
flags_of(const fd_timeline_event *event)
{
    bool named = fd_timeline_named(event)
              && fd_span_size(fd_timeline_text(event->name)) > 0;
    bool arrow = event->phase == 'f' && event->cat.from != NULL
              && fd_span_is(fd_timeline_text(event->cat), "ac2g");
    return (is_empty(event) ? FD_ROW_EMPTY : 0) | (named ? FD_ROW_NAMED : 0)
         | (event->pid.from != NULL ? FD_ROW_PID : 0)
         | (is_odd(event->pid) || is_odd(event->tid) ? FD_ROW_ODD_ID : 0)
         | (event->has_start ? FD_ROW_START : 0)
         | (event->has_start || event->ts.from != NULL ? FD_ROW_TIMED : 0)
         | (fd_timeline_id(event).from != NULL ? FD_ROW_ID : 0)
         | (arrow ? FD_ROW_ARROW : 0)
         | (event->encloses ? FD_ROW_ENCLOSES : 0);
}

void
fd_event_row_place(const fd_timeline_event *event, fd_event_row *row)
{
    static const char zero[] = "0";
    fd_span pid =
        event->pid.from != NULL ? event->pid : (fd_span){zero, zero + 1};
    bool joins =
        fd_timeline_id(event).from != NULL || has_phase(event, "stfbeSF");
    bool lasts =
        has_phase(event, "XBE") && event->has_duration && event->duration >= 0;
    bool ends =
        lasts
        && !__builtin_add_overflow(event->start, event->duration, &row->end);
    row->start = event->start;
    row->phase = (unsigned char)event->phase;
    row->pid = mix_hash(1, pid);
    row->thread = mix_hash(row->pid, event->tid);
    row->track = joins ? track_of(event, has_phase(event, "stf")) : 0;
    row->label = fd_timeline_named(event) ? mix_hash(0, event->name) : 0;
    row->flags = flags_of(event) | (lasts ? FD_ROW_DURATION : 0)
               | (ends ? FD_ROW_END : 0);
}

static fd_status
describe_event(fd_slice_texts *texts, const fd_timeline_event *event,
               fd_event_row *row)
{
    fd_event_row_place(event, row);
    fd_status status = fd_slice_columns_fill(texts, event, row);
    if (event->phase == 'M') {
        describe_metadata(event, row);
    }
    else if (has_phase(event, "XBE")) {
        return status;
    }
    else if (event->phase == 'C' && counts_only(event->args)) {
        row->flags |= FD_ROW_COUNTS;
    }
    else if ((row->number = lost_calls(event)) > 0) {
        row->flags |= FD_ROW_LOSS;
    }
    return status;
}

static fd_event_row
rank_row(fd_span row, uint64_t byte)
{
    fd_event_row made = {.byte = byte, .flags = FD_ROW_RANK};
    fd_span value;
    uint64_t lost;
    bool ranked = fd_scan_find(row, "rank", &value)
               && fd_span_u64(value, &made.number)
               && made.number < FD_TIMELINE_RANKS;
    if (ranked && fd_scan_find(row, "offset_ns", &value)
        && fd_scan_find(row, "align", &value) && *value.from == '"') {
        made.flags |= FD_ROW_NUMBER;
    }
    if (fd_scan_find(row, "events", &value) && fd_span_is(value, "0")) {
        made.flags |= FD_ROW_IDLE;
    }
    if (ranked && fd_scan_find(row, "lost", &value)
        && fd_span_u64(value, &lost) && lost <= INT64_MAX) {
        made.end = (int64_t)lost;
    }
    return made;
}

/* Add rows for the table that a merge writes: an array of objects with a rank
 * and an offset. */
static fd_status
add_ranks(reading *r, const fd_timeline_reader *reader)
{
    fd_scan scan = {
        .at = reader->value.from, .end = reader->value.to, .forgets = true};
    fd_span row;
    fd_status status = FD_OK;
    if (!fd_span_is(reader->key, "ranks")
        || fd_scan_mark(&scan, '[') != FD_SCAN_OK) {
        return FD_OK;
    }
    for (bool first = true;
         status == FD_OK && fd_scan_element(&scan, first, &row) == FD_SCAN_OK
         && *row.from == '{';
         first = false) {
        uint64_t ahead = (uint64_t)(row.from - reader->value.from);
        status = fd_row_batch_add(
            &r->batch, rank_row(row, reader->begin + ahead), r->error);
    }
    return status;
}

static fd_status
take_item(reading *r, const fd_timeline_reader *reader, bool is_event)
{
    fd_event_row row = {.byte = reader->begin, .flags = FD_ROW_OTHER};
    fd_status status = FD_OK;
    if (is_event) {
        row.flags = 0;
        row.event = ++r->facts->events;
        status = describe_event(&r->batch.texts, &reader->event, &row);
    }
    for (uint32_t i = 0; i < reader->repairs; i++) {
        const char *good = reader->scan.repairs.list[i].good;
        bool slash = good[0] == '\\' && good[1] == '\\';
        row.slashes += slash;
        row.repairs += !slash;
    }
    if (is_event || reader->repairs > 0) {
        fd_then(status, fd_row_batch_add(&r->batch, row, r->error));
    }
    return is_event ? status : fd_then(status, add_ranks(r, reader));
}

static fd_status
report_progress(reading *r, const fd_timeline_reader *reader)
{
    const fd_event_rows_request *request = r->request;
    if (request->progress == NULL || reader->in.read < r->reported) {
        return FD_OK;
    }
    r->reported = reader->in.read + PROGRESS_STEP;
    return stop_unless(
        request->progress(request->context, reader->in.read, reader->in.size),
        r->error);
}

static fd_status
end_reading(reading *r, const fd_timeline_reader *reader, const char *path)
{
    fd_event_facts *facts = r->facts;
    facts->lost = reader->lost;
    facts->lost_bytes = reader->lost_bytes;
    memcpy(facts->trouble, reader->trouble, sizeof facts->trouble);
    return reader->is_trace
             ? fd_row_batch_give(&r->batch, r->error)
             : fd_fail(r->error, FD_EFORMAT, "%s: %s", path,
                       facts->trouble[0] != '\0' ? facts->trouble
                                                 : "no traceEvents in it");
}

fd_status
fd_event_rows_read(const char *path, const fd_event_rows_request *request,
                   fd_event_facts *facts, fd_error *error)
{
    reading r = {.request = request,
                 .facts = facts,
                 .batch = {.take = request->take,
                           .context = request->context,
                           .texts = {.kind_of = request->kind_of,
                                     .context = request->context}},
                 .error = error};
    fd_timeline_reader reader;
    fd_timeline_item item;
    *facts = (fd_event_facts){.events = 0};
    fd_status status = fd_timeline_reader_open(&reader, path, error);
    if (status == FD_OK) {
        fd_timeline_recording_transfers(&reader.maker, &request->transfers);
    }
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        status = take_item(&r, &reader, item == FD_TIMELINE_EVENT);
        fd_then(status, report_progress(&r, &reader));
    }
    fd_then(status, reader.status);
    fd_then(status, end_reading(&r, &reader, path));
    fd_timeline_reader_close(&reader);
    fd_row_batch_clear(&r.batch);
    return status;
}
