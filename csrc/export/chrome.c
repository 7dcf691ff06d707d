#include "export/chrome.h"

#include "analysis/slices.h"
#include "export/chrome_head.h"
#include "export/slice_names.h"
#include "export/text.h"

#include <stdio.h>
#include <string.h>

/* Readers take equal thread ids of different processes for one thread: a rank
 * has ids of its own. */
enum { IDS_PER_RANK = 100000, PIECE = 1 << 17 };

/* What comes next. */
typedef enum chrome_part {
    PART_HEAD,
    PART_RANK, /* its rows */
    PART_STEPS,
    PART_ASYNC,
    PART_THREAD, /* its rows */
    PART_CALLS,
    PART_FOOT,
    PART_END
} chrome_part;

struct fd_chrome {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    uint32_t at;   /* of the ranks */
    int only;      /* this one, or FD_ALL_RANKS */
    chrome_part part;
    uint32_t event;  /* of the rank: where the part is */
    uint32_t thread; /* of the rank, whose events begin there */
    uint32_t count;  /* of them */
    fd_slices slices;
    uint64_t last;    /* ns: its latest edge */
    fd_slice_names names;
    fd_buffer *json; /* owned; every name as a JSON string without its first
                        quote and its last */
    fd_buffer *json_categories; /* the same */
    fd_export_options options;
    fd_clock_map clock; /* from times of the rank to those of the file */
    bool named_durations;
    bool first;
    fd_buffer *to; /* borrowed while a piece is written */
    size_t enough; /* its size then */
};

typedef struct fd_chrome writer;

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

static int64_t
shown(const writer *w, uint64_t time)
{
    return fd_clock_apply(&w->clock, (int64_t)time);
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
    write_us(w->to, shown(w, start));
    fd_buffer_text(w->to, ",\"dur\":");
    write_us(w->to, shown(w, end) - shown(w, start));
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
write_lost(writer *w)
{
    uint64_t lost = w->rank->threads.list[w->thread].events_lost;
    if (lost > 0) {
        next_event(w);
        fd_buffer_format(w->to,
                         "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%u,\"tid\":%u,"
                         "\"name\":\"%llu calls found no room in the "
                         "timeline\",\"ts\":",
                         w->rank->rank + 1, thread_track(w, w->thread),
                         (unsigned long long)lost);
        write_us(w->to, shown(w, w->last));
        fd_buffer_text(w->to, "}");
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
        write_us(w->to, shown(w, event->start + (end ? event->duration : 0)));
        fd_buffer_text(w->to, ",\"name\":\"");
        fd_buffer_bytes(w->to, w->json[name.name].bytes,
                        w->json[name.name].size);
        fd_buffer_text(w->to, "\",\"cat\":\"async\"}");
    }
}

static void
write_step(writer *w, const fd_trace_event *event)
{
    char name[32];
    snprintf(name, sizeof name, "step %u", event->context);
    begin_slice(w, steps_track(w), name, strlen(name), "step", event->start,
                event->start + event->duration);
    fd_buffer_text(w->to, "}");
}

static void
begin_part(writer *w, chrome_part part)
{
    w->part = part;
    w->event = 0;
    w->thread = 0;
}

/* The first rank that is asked for, from `at` on. */
static void
begin_rank(writer *w)
{
    while (w->at < w->trace->ranks.count && w->only != FD_ALL_RANKS
           && w->only != (int)w->at) {
        w->at++;
    }
    w->rank = &w->trace->ranks.list[w->at];
    begin_part(w, w->at < w->trace->ranks.count ? PART_RANK : PART_FOOT);
}

static fd_clock_map
clock_of(const writer *w)
{
    return w->options.clocks != NULL
               ? w->options.clocks[w->at].map
               : (fd_clock_map){.offset_ns
                                = fd_rank_offset(w->trace, w->rank)
                                  - fd_first_offset(w->trace)};
}

static fd_status
rank_part(writer *w)
{
    fd_buffer label = {.bytes = NULL};
    w->clock = clock_of(w);
    fd_rank_label(w->trace, w->rank, &label);
    write_row(w, "process_name", 0, label.bytes, label.size);
    write_place(w, "process_sort_index", 0, w->rank->rank);
    fd_status status = label.status;
    fd_buffer_clear(&label);
    begin_part(w, PART_STEPS);
    return status;
}

static fd_status
steps_part(writer *w)
{
    const fd_trace_event *events = w->rank->events.list;
    bool any = false;
    for (; w->event < w->rank->events.count; w->event++) {
        if (events[w->event].kind == FD_EVENT_STEP) {
            if (!any) {
                write_track(w, steps_track(w), "Steps");
                any = true;
            }
            write_step(w, &events[w->event]);
        }
    }
    begin_part(w, PART_ASYNC);
    return FD_OK;
}

static fd_status
async_part(writer *w)
{
    const fd_trace_event *events = w->rank->events.list;
    for (; w->event < w->rank->events.count; w->event++) {
        if (events[w->event].kind == FD_EVENT_ASYNC) {
            write_async(w, &events[w->event], w->event);
            if (w->to->size >= w->enough) {
                w->event++;
                return FD_OK;
            }
        }
    }
    begin_part(w, PART_THREAD);
    return FD_OK;
}

/* Of a thread that kept nothing, what it lost is shown all the same. */
static fd_status
thread_part(writer *w)
{
    const fd_trace_rank *rank = w->rank;
    if (w->thread == rank->threads.count) {
        w->at++;
        begin_rank(w);
        return FD_OK;
    }
    const fd_trace_thread *thread = &rank->threads.list[w->thread];
    const fd_trace_event *events = rank->events.list + w->event;
    bool has_any = w->event < rank->events.count
                   && events->thread == w->thread;
    uint32_t count = has_any ? fd_events_of_thread(rank->events.list,
                                                   rank->events.count,
                                                   w->event)
                                   - w->event
                             : 0;
    if (count == 0 && thread->events_lost == 0) {
        w->thread++;
        return FD_OK;
    }
    fd_status status = fd_slices_make(&w->slices, events, count);
    write_track(w, thread_track(w, w->thread),
                fd_trace_text(w->trace, thread->role));
    w->last = 0;
    w->part = PART_CALLS;
    w->count = count;
    return status;
}

static fd_status
calls_part(writer *w)
{
    const fd_trace_event *events = w->rank->events.list + w->event;
    uint32_t track = thread_track(w, w->thread);
    fd_slice_edge edge;
    while (fd_slices_next(&w->slices, &edge)) {
        w->last = edge.time;
        if (edge.begins) {
            write_event(w, track, &events[edge.event], edge.time,
                        fd_trace_record_id(w->rank, w->event + edge.event));
            if (w->to->size >= w->enough) {
                return FD_OK;
            }
        }
    }
    write_lost(w);
    fd_slices_clear(&w->slices);
    w->event += w->count;
    w->thread++;
    w->part = PART_THREAD;
    return FD_OK;
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

static fd_status
head_part(writer *w)
{
    fd_chrome_head(w->trace, &w->options, w->to);
    begin_rank(w);
    return FD_OK;
}

static fd_status
foot_part(writer *w)
{
    fd_buffer_text(w->to, "\n]}\n");
    w->part = PART_END;
    return FD_OK;
}

fd_chrome *
fd_chrome_open(const fd_trace *trace, const fd_export_options *options,
               fd_status *status)
{
    fd_chrome *chrome = fd_calloc(1, sizeof *chrome);
    if (chrome == NULL) {
        *status = FD_ENOMEM;
        return NULL;
    }
    chrome->trace = trace;
    chrome->only = options->rank;
    chrome->options = *options;
    chrome->first = true;
    chrome->named_durations = options->named_durations;
    *status = fd_slice_names_make(&chrome->names, trace);
    if (*status == FD_OK) {
        *status = escape_all(&chrome->names.names, &chrome->json);
    }
    if (*status == FD_OK) {
        *status = escape_all(&chrome->names.categories,
                             &chrome->json_categories);
    }
    if (*status != FD_OK) {
        fd_chrome_close(chrome);
        return NULL;
    }
    return chrome;
}

fd_status
fd_chrome_next(fd_chrome *chrome, fd_buffer *to)
{
    static fd_status (*const parts[])(writer *w) = {
        [PART_HEAD] = head_part,     [PART_RANK] = rank_part,
        [PART_STEPS] = steps_part,   [PART_ASYNC] = async_part,
        [PART_THREAD] = thread_part, [PART_CALLS] = calls_part,
        [PART_FOOT] = foot_part,
    };
    size_t before = to->size;
    fd_status status = FD_OK;
    chrome->to = to;
    chrome->enough = before + PIECE;
    while (status == FD_OK && to->status == FD_OK && chrome->part != PART_END
           && (to->size == before || chrome->part == PART_RANK)) {
        status = parts[chrome->part](chrome);
    }
    return status == FD_OK ? to->status : status;
}

void
fd_chrome_close(fd_chrome *chrome)
{
    if (chrome != NULL) {
        clear_all(&chrome->names.names, chrome->json);
        clear_all(&chrome->names.categories, chrome->json_categories);
        fd_slice_names_clear(&chrome->names);
        fd_slices_clear(&chrome->slices);
        fd_free(chrome);
    }
}

fd_status
fd_export_chrome(const fd_trace *trace, const fd_export_options *options,
                 fd_buffer *to, fd_error *error)
{
    size_t before;
    fd_status status = fd_timeline_check(trace, options->rank, error);
    fd_chrome *chrome = status == FD_OK
                            ? fd_chrome_open(trace, options, &status)
                            : NULL;
    do {
        before = to->size;
        status = status == FD_OK ? fd_chrome_next(chrome, to) : status;
    } while (status == FD_OK && to->size > before);
    fd_chrome_close(chrome);
    return status;
}
