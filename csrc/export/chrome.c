#include "export/chrome.h"

#include "analysis/slices.h"
#include "export/slice_names.h"
#include "export/text.h"

#include <stdio.h>
#include <string.h>

/* Readers take equal thread ids of different processes for one thread: a rank
 * has ids of its own. */
enum { IDS_PER_RANK = 100000 };

typedef struct writer {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    fd_slice_names names;
    fd_buffer *json; /* owned; every name as a JSON string without its first
                        quote and its last */
    fd_buffer *json_categories; /* the same */
    int64_t offset;  /* ns from the earliest start of a rank to this one's */
    bool named_durations;
    bool first;
    fd_buffer *to;
} writer;

static uint32_t
steps_track(const writer *w)
{
    return (w->rank->rank + 1) * IDS_PER_RANK;
}

static uint32_t
thread_track(const writer *w, uint32_t thread)
{
    return steps_track(w) + 1 + thread;
}

static void
next_event(writer *w)
{
    fd_buffer_text(w->to, w->first ? "\n" : ",\n");
    w->first = false;
}

/* Nanoseconds as microseconds with three decimals, by integers alone. */
static void
write_us(fd_buffer *to, int64_t ns)
{
    uint64_t size = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
    char decimals[5] = {'.', (char)('0' + size / 100 % 10),
                        (char)('0' + size / 10 % 10), (char)('0' + size % 10),
                        '\0'};
    fd_buffer_text(to, ns < 0 ? "-" : "");
    fd_buffer_u64(to, size / 1000);
    fd_buffer_bytes(to, decimals, 4);
}

static void
write_row(writer *w, const char *what, uint32_t tid, const char *text,
          size_t size)
{
    next_event(w);
    fd_buffer_format(w->to,
                     "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\","
                     "\"args\":{\"name\":",
                     w->rank->rank + 1, tid, what);
    fd_buffer_json(w->to, text, size);
    fd_buffer_text(w->to, "}}");
}

static void
write_place(writer *w, const char *what, uint32_t tid, uint32_t place)
{
    next_event(w);
    fd_buffer_format(w->to,
                     "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\","
                     "\"args\":{\"sort_index\":%u}}",
                     w->rank->rank + 1, tid, what, place);
}

static void
write_track(writer *w, uint32_t tid, const char *name)
{
    write_row(w, "thread_name", tid, name, strlen(name));
    write_place(w, "thread_sort_index", tid, tid);
}

/* Up to its arguments. */
static void
begin_slice(writer *w, uint32_t tid, const char *name, size_t size,
            const char *category, uint64_t start, uint64_t end)
{
    next_event(w);
    fd_buffer_text(w->to, "{\"ph\":\"X\",\"pid\":");
    fd_buffer_u64(w->to, (uint64_t)w->rank->rank + 1);
    fd_buffer_text(w->to, ",\"tid\":");
    fd_buffer_u64(w->to, tid);
    fd_buffer_text(w->to, ",\"ts\":");
    write_us(w->to, (int64_t)start + w->offset);
    fd_buffer_text(w->to, ",\"dur\":");
    write_us(w->to, (int64_t)(end - start));
    fd_buffer_text(w->to, ",\"name\":\"");
    fd_buffer_bytes(w->to, name, size);
    if (w->named_durations) {
        fd_buffer_text(w->to, " (");
        fd_text_time(w->to, end - start);
        fd_buffer_text(w->to, ")");
    }
    fd_buffer_text(w->to, "\",\"cat\":\"");
    fd_buffer_text(w->to, category);
    fd_buffer_text(w->to, "\"");
}

static void
write_event(writer *w, uint32_t tid, const fd_trace_event *event,
            uint64_t start, uint64_t record_id)
{
    fd_slice_name name = w->names.of_context[event->context];
    begin_slice(w, tid, w->json[name.name].bytes, w->json[name.name].size,
                w->json_categories[name.category].bytes, start,
                event->start + event->duration);
    if (event->kind == FD_EVENT_OPEN) {
        fd_buffer_text(w->to, ",\"args\":{\"open\":true}}");
    }
    else if (record_id != 0) {
        fd_buffer_text(w->to, ",\"args\":{\"Record function id\":");
        fd_buffer_u64(w->to, record_id);
        fd_buffer_text(w->to, "}}");
    }
    else {
        fd_buffer_text(w->to, "}");
    }
}

static void
write_lost(writer *w, uint32_t thread, uint64_t time)
{
    uint64_t lost = w->rank->threads.list[thread].events_lost;
    if (lost > 0) {
        next_event(w);
        fd_buffer_format(w->to,
                         "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%u,\"tid\":%u,"
                         "\"name\":\"%llu calls found no room in the "
                         "timeline\",\"ts\":",
                         w->rank->rank + 1, thread_track(w, thread),
                         (unsigned long long)lost);
        write_us(w->to, (int64_t)time + w->offset);
        fd_buffer_text(w->to, "}");
    }
}

static fd_status
write_thread(writer *w, uint32_t thread, const fd_trace_event *events,
             uint32_t count)
{
    const fd_trace_thread *of = &w->rank->threads.list[thread];
    fd_slices slices;
    fd_slice_edge edge = {.time = 0};
    fd_status status = fd_slices_make(&slices, events, count);
    if (status != FD_OK) {
        return status;
    }
    write_track(w, thread_track(w, thread), fd_trace_text(w->trace, of->role));
    while (fd_slices_next(&slices, &edge)) {
        if (edge.begins) {
            const fd_trace_event *event = &events[edge.event];
            uint32_t place = (uint32_t)(event - w->rank->events.list);
            write_event(w, thread_track(w, thread), event, edge.time,
                        fd_trace_record_id(w->rank, place));
        }
    }
    write_lost(w, thread, edge.time);
    fd_slices_clear(&slices);
    return FD_OK;
}

static void
write_steps(writer *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->rank->events.count; i++) {
        const fd_trace_event *event = &w->rank->events.list[i];
        char name[32];
        if (event->kind == FD_EVENT_STEP) {
            if (!any) {
                write_track(w, steps_track(w), "Steps");
                any = true;
            }
            snprintf(name, sizeof name, "step %u", event->context);
            begin_slice(w, steps_track(w), name, strlen(name), "step",
                        event->start, event->start + event->duration);
            fd_buffer_text(w->to, "}");
        }
    }
}

/* Nestable asynchronous events may overlap; each has an id of its own, within
 * its process: those of a plain `id` are shown outside all processes. */
static void
write_async(writer *w, const fd_trace_event *event, uint32_t number)
{
    fd_slice_name name = w->names.of_context[event->context];
    for (int end = 0; end < 2; end++) {
        next_event(w);
        fd_buffer_format(w->to,
                         "{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u,"
                         "\"id2\":{\"local\":\"0x%x\"},\"ts\":",
                         end ? 'e' : 'b', w->rank->rank + 1,
                         thread_track(w, event->thread), number);
        write_us(w->to, (int64_t)(event->start + (end ? event->duration : 0))
                            + w->offset);
        fd_buffer_text(w->to, ",\"name\":\"");
        fd_buffer_bytes(w->to, w->json[name.name].bytes,
                        w->json[name.name].size);
        fd_buffer_text(w->to, "\",\"cat\":\"async\"}");
    }
}

static fd_status
write_rank(writer *w)
{
    const fd_trace_event *events = w->rank->events.list;
    uint32_t count = w->rank->events.count;
    fd_buffer label = {.bytes = NULL};
    w->offset = fd_rank_offset(w->trace, w->rank) - fd_first_offset(w->trace);
    fd_rank_label(w->trace, w->rank, &label);
    write_row(w, "process_name", 0, label.bytes, label.size);
    write_place(w, "process_sort_index", 0, w->rank->rank);
    fd_status status = label.status;
    fd_buffer_clear(&label);
    write_steps(w);
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].kind == FD_EVENT_ASYNC) {
            write_async(w, &events[i], i);
        }
    }
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        next = fd_events_of_thread(events, count, i);
        status = write_thread(w, events[i].thread, events + i, next - i);
    }
    return status;
}

static fd_status
escape(const char *plain, fd_buffer *to)
{
    fd_buffer quoted = {.bytes = NULL};
    fd_buffer_json(&quoted, plain, strlen(plain));
    if (quoted.status == FD_OK) {
        fd_buffer_bytes(to, quoted.bytes + 1, quoted.size - 2);
        fd_buffer_bytes(to, "", 1);
        to->size--;
    }
    fd_status status = quoted.status == FD_OK ? to->status : quoted.status;
    fd_buffer_clear(&quoted);
    return status;
}

/* Escaping once a text, not once a slice. */
static fd_status
escape_all(const fd_text_pool *texts, fd_buffer **json)
{
    *json = fd_calloc(texts->texts.count + 1, sizeof **json);
    fd_status status = *json != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; i < texts->texts.count && status == FD_OK; i++) {
        status = escape(fd_text_pool_get(texts, i), &(*json)[i]);
    }
    return status;
}

static void
clear_all(const fd_text_pool *texts, fd_buffer *json)
{
    for (uint32_t i = 0; json != NULL && i < texts->texts.count; i++) {
        fd_buffer_clear(&json[i]);
    }
    fd_free(json);
}

static void
clear(writer *w)
{
    clear_all(&w->names.names, w->json);
    clear_all(&w->names.categories, w->json_categories);
    fd_slice_names_clear(&w->names);
}

static void
write_foot(writer *w, int rank)
{
    const fd_trace_rank *first = &w->trace->ranks.list[rank < 0 ? 0 : rank];
    fd_buffer_format(w->to,
                     "\n],\"displayTimeUnit\":\"ns\","
                     "\"baseTimeNanoseconds\":%llu,"
                     "\"distributedInfo\":{\"rank\":%u,\"world_size\":%u}}\n",
                     (unsigned long long)w->trace->ranks.list[0]
                             .start.realtime_ns
                         + (unsigned long long)fd_first_offset(w->trace),
                     first->rank, first->world);
}

fd_status
fd_export_chrome(const fd_trace *trace, const fd_export_options *options,
                 fd_buffer *to, fd_error *error)
{
    writer w = {.trace = trace,
                .to = to,
                .first = true,
                .named_durations = options->named_durations};
    fd_status status = fd_timeline_check(trace, options->rank, error);
    if (status == FD_OK) {
        status = fd_slice_names_make(&w.names, trace);
    }
    if (status == FD_OK) {
        status = escape_all(&w.names.names, &w.json);
    }
    if (status == FD_OK) {
        status = escape_all(&w.names.categories, &w.json_categories);
    }
    fd_buffer_text(to, "{\"traceEvents\":[");
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        if (options->rank == FD_ALL_RANKS || options->rank == (int)i) {
            w.rank = &trace->ranks.list[i];
            status = write_rank(&w);
        }
    }
    write_foot(&w, options->rank);
    clear(&w);
    return status == FD_OK ? to->status : status;
}
