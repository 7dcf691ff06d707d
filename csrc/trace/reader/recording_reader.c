#include "trace/reader/recording_reader.h"

#include "base/clock.h"
#include "trace/canonical_order.h"
#include "trace/reader/recording_reading.h"
#include "json/json_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void
read_step(fd_reading *r, const fd_step *step)
{
    fd_trace_step made = {.number = step->number,
                          .begin = fd_reading_since_start(r, step->begin),
                          .end = fd_reading_since_start(r, step->end),
                          .communicated = step->communicated,
                          .live = step->live};
    for (int i = 0; i < FD_PHASES; i++) {
        made.phases[i] = fd_reading_ns(r, step->phases[i]);
    }
    fd_reading_push(r, &r->rank->latest, made);
    for (int i = 0; i < FD_STEP_TOP; i++) {
        fd_trace_top top = {
            .step = step->number,
            .context = fd_reading_context(r, step->top[i].context),
            .self =
                fd_reading_whole((double)step->top[i].self * r->ns_per_tick),
        };
        if (top.context != 0) {
            fd_reading_push(r, &r->rank->tops, top);
        }
    }
}

FD_ORDER_POINTERS(by_number, fd_step, FD_UP(number))

/* Read the latest steps, sorted by number. */
static void
read_steps(fd_reading *r)
{
    FD_VECTOR(const fd_step *) ended = {NULL, 0, 0};
    FOR_EACH_RECORD (r, FD_CHUNK_STEPS, fd_step, step) {
        if (step->end != 0) {
            fd_arena_push(&r->arena, &ended, step);
        }
    }
    fd_vector_sort(&ended, by_number);
    for (uint32_t i = 0; i < ended.count; i++) {
        read_step(r, ended.list[i]);
    }
}

static void
put_meta(fd_reading *r, fd_trace_meta meta)
{
    for (uint32_t i = 0; i < r->rank->meta.count; i++) {
        if (r->rank->meta.list[i].key == meta.key) {
            r->rank->meta.list[i].json = meta.json;
            return;
        }
    }
    fd_reading_push(r, &r->rank->meta, meta);
}

/* Add JSON in the spelling of dumps. */
static uint32_t
read_json(fd_reading *r, uint32_t id)
{
    uint32_t text = fd_reading_text(r, id, 0);
    if (text != 0) {
        fd_buffer *spelled = fd_arena_buffer(&r->arena);
        fd_json_text(spelled, fd_trace_text(r->trace, text));
        fd_arena_check(&r->arena,
                       fd_text_pool_take(&r->trace->texts, spelled, &text));
    }
    return text;
}

static void
read_meta(fd_reading *r)
{
    FOR_EACH_RECORD (r, FD_CHUNK_META, fd_meta, from) {
        fd_trace_meta meta = {.key = fd_reading_text(r, from->key, 0),
                              .json = read_json(r, from->value)};
        if (meta.key != 0 && meta.json != 0) {
            put_meta(r, meta);
        }
    }
}

static void
put_hexadecimal(const uint8_t bytes[16], char text[33])
{
    for (int i = 0; i < 16; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

static void
note_line(fd_reading *r, const char *line)
{
    uint32_t id;
    fd_arena_check(&r->arena, fd_text_pool_add(&r->trace->texts, line,
                                               strlen(line), &id));
    fd_reading_push(r, &r->rank->notes, id);
}

static void
note_damage(fd_reading *r)
{
    char line[128];
    r->rank->incomplete = r->file.truncated || r->file.damaged > 0;
    if (r->file.truncated) {
        note_line(r, "the file is cut short: its last records are lost");
    }
    if (r->file.damaged > 0) {
        snprintf(line, sizeof line, "%u damaged pages were skipped",
                 r->file.damaged);
        note_line(r, line);
    }
    if (r->file.writer == FD_WRITER_UNKNOWN) {
        note_line(r, "whether its process lives is not known: the file "
                     "system has no locks");
    }
    if (r->lost != 0) {
        note_line(r, "calls whose callers are lost hang below <lost>");
    }
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
    rank->timing = header->timing != 0;
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
    FOR_EACH_RECORD (r, FD_CHUNK_THREADS, fd_thread_record, record) {
        last = record->last > last ? record->last : last;
    }
    if (header->resumed != 0 && last > header->resumed) {
        ticks += last - header->resumed;
    }
    r->rank->recorded = fd_reading_ns(r, ticks);
}

typedef void part_reader(fd_reading *r);

static part_reader *const ALL_PARTS[] = {
    fd_read_shared,  fd_read_contexts,
    fd_read_threads, fd_read_snapshots,
    fd_read_jobs,    fd_read_events,
    fd_read_flows,   fd_read_kernels,
    fd_read_gpu,     fd_read_measures,
    read_steps,      read_meta,
    note_damage,     NULL,
};
static part_reader *const TOTALS_PARTS[] = {
    fd_read_shared, fd_read_contexts, fd_read_threads,
    read_meta,      note_damage,      NULL,
};
static part_reader *const OPEN_PARTS[] = {
    fd_read_contexts, fd_read_threads, fd_read_measures,
    read_meta,        note_damage,     NULL,
};

static fd_status
read_all(fd_reading *r)
{
    part_reader *const *read = r->part == FD_PART_OPEN_CALLS ? OPEN_PARTS
                             : r->part == FD_PART_TOTALS     ? TOTALS_PARTS
                                                             : ALL_PARTS;
    if (fd_arena_caught(&r->arena, NULL)) {
        return r->arena.status;
    }
    r->trace = fd_trace_new();
    r->rank = r->trace != NULL ? fd_trace_add_rank(r->trace) : NULL;
    fd_arena_check(&r->arena, r->rank != NULL ? FD_OK : FD_ENOMEM);
    read_header(r);
    for (int i = 0; read[i] != NULL; i++) {
        read[i](r);
    }
    read_duration(r);
    return fd_arena_left(&r->arena);
}

static void
clear_reading(fd_reading *r)
{
    fd_arena_clear(&r->arena);
    fd_chunks_close(&r->file);
    fd_map_clear(&r->nodes);
    fd_map_clear(&r->modules);
    fd_map_clear(&r->jobs);
    fd_map_clear(&r->kernels);
    fd_map_clear(&r->threads);
}

/* Read the open chunks, and close them. `path` NULL: in memory. */
static fd_status
read_chunks(fd_reading *r, fd_trace **trace, const char *path, fd_error *error)
{
    const char *name = path != NULL ? path : "this recording";
    fd_status status = read_all(r);
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
