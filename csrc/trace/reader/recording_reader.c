#include "trace/reader/recording_reader.h"

#include "base/clock.h"
#include "trace/canonical_order.h"
#include "trace/reader/recording_reading.h"
#include "json/json_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static fd_status
read_step(fd_reading *r, const fd_step *step)
{
    uint64_t start = fd_chunks_header(&r->file)->start.ticks;
    fd_trace_step made = {.number = step->number,
                          .communicated = step->communicated,
                          .live = step->live};
    made.begin =
        step->begin > start ? fd_reading_ns(r, step->begin - start) : 0;
    made.end = step->end > start ? fd_reading_ns(r, step->end - start) : 0;
    for (int i = 0; i < FD_PHASES; i++) {
        made.phases[i] = fd_reading_ns(r, step->phases[i]);
    }
    fd_status status = fd_vector_push(&r->rank->latest, made);
    for (int i = 0; i < FD_STEP_TOP && status == FD_OK; i++) {
        fd_trace_top top = {
            .step = step->number,
            .context = fd_reading_context(r, step->top[i].context),
            .self =
                fd_reading_whole((double)step->top[i].self * r->ns_per_tick),
        };
        if (top.context != 0) {
            status = fd_vector_push(&r->rank->tops, top);
        }
    }
    return status;
}

FD_ORDER_POINTERS(by_number, fd_step, FD_UP(number))

/* Read the latest steps, sorted by number. */
static fd_status
read_steps(fd_reading *r)
{
    FD_VECTOR(const fd_step *) ended = {NULL, 0, 0};
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(r, FD_CHUNK_STEPS, view)
    {
        const fd_step *steps = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            if (steps[i].end != 0) {
                status = fd_vector_push(&ended, &steps[i]);
            }
        }
    }
    fd_vector_sort(&ended, by_number);
    for (uint32_t i = 0; i < ended.count && status == FD_OK; i++) {
        status = read_step(r, ended.list[i]);
    }
    fd_vector_clear(&ended);
    return status;
}

static fd_status
put_meta(fd_reading *r, const fd_trace_meta *meta)
{
    for (uint32_t i = 0; i < r->rank->meta.count; i++) {
        if (r->rank->meta.list[i].key == meta->key) {
            r->rank->meta.list[i].json = meta->json;
            return FD_OK;
        }
    }
    return fd_vector_push(&r->rank->meta, *meta);
}

/* Add JSON in the spelling of dumps. */
static fd_status
read_json(fd_reading *r, uint32_t id, uint32_t *to)
{
    const fd_string *string = fd_chunks_string(&r->file, id);
    fd_buffer text = {.bytes = NULL};
    *to = 0;
    if (string == NULL || string->size == 0) {
        return FD_OK;
    }
    fd_status status = fd_reading_text(r, id, 0, to);
    if (status == FD_OK) {
        fd_json_text(&text, fd_trace_text(r->trace, *to));
        status = fd_text_pool_take(&r->trace->texts, &text, to);
    }
    return status;
}

static fd_status
read_meta(fd_reading *r)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(r, FD_CHUNK_META, view)
    {
        const fd_meta *list = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            fd_trace_meta meta;
            status = fd_reading_text(r, list[i].key, 0, &meta.key);
            fd_then(status, read_json(r, list[i].value, &meta.json));
            if (status == FD_OK && meta.key != 0 && meta.json != 0) {
                status = put_meta(r, &meta);
            }
        }
    }
    return status;
}

static void
put_hexadecimal(const uint8_t bytes[16], char text[33])
{
    for (int i = 0; i < 16; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

static fd_status
note_line(fd_reading *r, const char *line)
{
    uint32_t id;
    fd_status status =
        fd_text_pool_add(&r->trace->texts, line, strlen(line), &id);
    return fd_then(status, fd_vector_push(&r->rank->notes, id));
}

static fd_status
note_damage(fd_reading *r)
{
    char line[128];
    fd_status status = FD_OK;
    r->rank->incomplete = r->file.truncated || r->file.damaged > 0;
    if (r->file.truncated) {
        status =
            note_line(r, "the file is cut short: its last records are lost");
    }
    if (status == FD_OK && r->file.damaged > 0) {
        snprintf(line, sizeof line, "%u damaged pages were skipped",
                 r->file.damaged);
        status = note_line(r, line);
    }
    if (status == FD_OK && r->file.writer == FD_WRITER_UNKNOWN) {
        status =
            note_line(r, "whether its process lives is not known: the file "
                         "system has no locks");
    }
    if (status == FD_OK && r->lost != 0) {
        status =
            note_line(r, "calls whose callers are lost hang below <lost>");
    }
    return status;
}

/* Return the tick of the latest sign of life: of now, if the process runs on
 * this host. */
static uint64_t
sign_of_life(const fd_reading *r)
{
    const fd_header *header = fd_chunks_header(&r->file);
    uint8_t boot[16];
    struct timespec now;
    fd_clock_identify_boot(boot);
    if (r->file.writer != FD_WRITER_LIVES || header->start.monotonic_ns == 0
        || memcmp(boot, header->boot_id, sizeof boot) != 0) {
        return header->seen_alive;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    double ns = (double)now.tv_sec * 1e9 + (double)now.tv_nsec
              - (double)header->start.monotonic_ns;
    return header->start.ticks + fd_reading_whole(ns / r->ns_per_tick);
}

/* Read the header and compute the ticks per nanosecond, from two anchors if
 * there are two. */
static void
read_header(fd_reading *r)
{
    const fd_header *header = fd_chunks_header(&r->file);
    fd_trace_rank *rank = r->rank;
    double hertz = header->hertz;
    if (header->stop.monotonic_ns > header->start.monotonic_ns + 1000000) {
        hertz =
            (double)(header->stop.ticks - header->start.ticks) * 1e9
            / (double)(header->stop.monotonic_ns - header->start.monotonic_ns);
    }
    r->ns_per_tick = hertz > 1e6 && hertz < 1e12 ? 1e9 / hertz : 1.0;
    rank->rank = header->rank;
    rank->world = header->world;
    rank->pid = header->pid;
    rank->timing = header->timing;
    rank->state = header->state == FD_STATE_FOLLOWING ? FD_STATE_RUNNING
                : header->state <= FD_STATE_STOPPED   ? header->state
                                                      : 0;
    if (header->state != FD_STATE_STOPPED
        && r->file.writer == FD_WRITER_GONE) {
        rank->state = FD_STATE_KILLED;
    }
    rank->steps = header->steps;
    r->alive = fd_reading_is_unfinished(r) ? sign_of_life(r) : 0;
    rank->seen_alive = fd_reading_since_start(r, r->alive);
    rank->others_ran = fd_reading_since_start(r, header->others_ran);
    rank->run_steps =
        header->run_steps > rank->steps ? header->run_steps : rank->steps;
    rank->steps_source = header->steps_source <= FD_STEPS_EXPLICIT
                           ? header->steps_source
                           : FD_STEPS_NONE;
    rank->start = header->start;
    rank->start.ticks = fd_reading_ns(r, header->start.ticks);
    rank->file_bytes = header->file_bytes;
    put_hexadecimal(header->id, rank->id);
    put_hexadecimal(header->boot_id, rank->boot_id);
    for (int i = 0; i < FD_COUNTERS; i++) {
        rank->counters[i] = header->counters[i];
    }
}

/* Read the recorded time. A killed process did not store it: it then ends at
 * the last event. */
static void
read_duration(fd_reading *r)
{
    const fd_header *header = fd_chunks_header(&r->file);
    uint64_t ticks = header->recorded;
    uint64_t last = 0;
    FOR_EACH_CHUNK(r, FD_CHUNK_THREADS, view)
    {
        const fd_thread_record *records = view->records;
        for (uint32_t i = 0; i < view->used; i++) {
            last = records[i].last > last ? records[i].last : last;
        }
    }
    if (header->resumed != 0 && last > header->resumed) {
        ticks += last - header->resumed;
    }
    r->rank->recorded = fd_reading_ns(r, ticks);
}

typedef fd_status (*part_reader)(fd_reading *r);

static const part_reader ALL_PARTS[] = {
    fd_read_shared,  fd_read_contexts,
    fd_read_threads, fd_read_snapshots,
    fd_read_jobs,    fd_read_events,
    fd_read_flows,   fd_read_kernels,
    fd_read_gpu,     fd_read_measures,
    read_steps,      read_meta,
    note_damage,     NULL,
};
static const part_reader TOTALS_PARTS[] = {
    fd_read_shared, fd_read_contexts, fd_read_threads,
    read_meta,      note_damage,      NULL,
};
static const part_reader OPEN_PARTS[] = {
    fd_read_contexts, fd_read_threads, fd_read_measures,
    read_meta,        note_damage,     NULL,
};

static fd_status
read_all(fd_reading *r)
{
    fd_status status = FD_OK;
    const part_reader *read = r->part == FD_PART_OPEN_CALLS ? OPEN_PARTS
                            : r->part == FD_PART_TOTALS     ? TOTALS_PARTS
                                                            : ALL_PARTS;
    read_header(r);
    for (; *read != NULL && status == FD_OK; read++) {
        status = (*read)(r);
    }
    read_duration(r);
    return status;
}

static void
clear_reading(fd_reading *r)
{
    fd_chunks_close(&r->file);
    fd_map_clear(&r->nodes);
    fd_map_clear(&r->modules);
    fd_map_clear(&r->jobs);
    fd_map_clear(&r->kernels);
    fd_map_clear(&r->threads);
    fd_vector_clear(&r->flows);
    fd_vector_clear(&r->raw);
    fd_vector_clear(&r->records);
    fd_vector_clear(&r->owners);
    fd_free(r->map);
    fd_free(r->open);
}

/* Read the open chunks, and close them. `path` NULL: in memory. */
static fd_status
read_chunks(fd_reading *r, fd_trace **trace, const char *path, fd_error *error)
{
    const char *name = path != NULL ? path : "this recording";
    r->trace = fd_trace_new();
    r->rank = r->trace != NULL ? fd_trace_add_rank(r->trace) : NULL;
    fd_status status = r->rank != NULL ? read_all(r) : FD_ENOMEM;
    if (status == FD_OK && !r->unsorted) {
        status = fd_trace_sort(r->trace);
    }
    if (status != FD_OK) {
        fd_trace_free(r->trace);
        r->trace = NULL;
        fd_fail(error, status, "%s: %s", name, fd_status_name(status));
    }
    clear_reading(r);
    *trace = r->trace;
    return status;
}

static bool
is_partial(fd_trace_part part)
{
    return part == FD_PART_OPEN_CALLS || part == FD_PART_TOTALS;
}

fd_status
fd_reader_read_steps(fd_trace **trace, const char *path, fd_trace_part part,
                     bool unsorted, const fd_steps_wanted *steps,
                     fd_error *error)
{
    fd_reading r = {.part = part, .unsorted = unsorted, .steps = steps};
    fd_status status = fd_chunks_open(
        &r.file, path, is_partial(part) ? FD_CHUNKS_TOTALS : FD_CHUNKS_FIGURES,
        error);
    return fd_then(status, read_chunks(&r, trace, path, error));
}

fd_status
fd_reader_read(fd_trace **trace, const char *path, bool timeline,
               fd_error *error)
{
    return fd_reader_read_steps(trace, path, fd_part_of(timeline), false, NULL,
                                error);
}

fd_status
fd_reader_read_memory(fd_trace **trace, const void *base, size_t size,
                      bool timeline, fd_error *error)
{
    fd_reading r = {.part = fd_part_of(timeline)};
    fd_status status = fd_chunks_view(&r.file, base, size, error);
    return fd_then(status, read_chunks(&r, trace, NULL, error));
}
