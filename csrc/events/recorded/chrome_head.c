#include "events/recorded/chrome_head.h"

#include "events/recorded/slice_names.h"
#include "trace/trace.h"
#include "trace/trace_columns.h"
#include "json/json_writer.h"

static void
write_texts(const fd_trace *trace, const fd_trace_rank *rank,
            fd_json_writer *w)
{
    fd_json_begin_array(w, "notes");
    for (uint32_t i = 0; i < rank->notes.count; i++) {
        uint32_t note = rank->notes.list[i];
        fd_json_put_bytes(w, NULL, fd_trace_text(trace, note),
                          fd_text_pool_size(&trace->texts, note));
    }
    fd_json_end_array(w);
    fd_json_begin_object(w, "facts");
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        const fd_trace_meta *fact = &rank->meta.list[i];
        fd_json_key(w, fd_trace_text(trace, fact->key),
                    fd_text_pool_size(&trace->texts, fact->key));
        fd_buffer_text(fd_json_put(w, NULL), fd_trace_text(trace, fact->json));
    }
    fd_json_end_object(w);
}

/* Write the facts of a recording. `start`: the values of its clocks at its
 * time 0. */
static void
write_recording(const fd_trace *trace, const fd_trace_rank *rank,
                fd_json_writer *w)
{
    fd_json_line(w);
    fd_json_begin_object(w, NULL);
    fd_json_put_u64(w, "rank", rank->rank);
    fd_json_put_u64(w, "world_size", rank->world);
    fd_json_put_u64(w, "pid", rank->pid);
    fd_json_put_text(w, "id", rank->id);
    fd_json_put_text(w, "state", fd_state_names[rank->state]);
    fd_json_put_text(w, "boot_id", rank->boot_id);
    fd_json_begin_object(w, "start");
    fd_json_put_u64(w, "monotonic", rank->start.monotonic_ns);
    fd_json_put_u64(w, "boottime", rank->start.boottime_ns);
    fd_json_put_u64(w, "realtime", rank->start.realtime_ns);
    fd_json_end_object(w);
    fd_json_line(w);
    write_texts(trace, rank, w);
    fd_json_end_object(w);
}

/* Write a fact under the name that other programs use. */
static void
write_fact(const fd_trace *trace, const fd_trace_rank *rank, const char *key,
           const char *as, fd_json_writer *w)
{
    const char *json = fd_rank_fact(trace, rank, key);
    if (json != NULL) {
        fd_json_line(w);
        fd_buffer_text(fd_json_put(w, as), json);
    }
}

/* Write the clock of a file with one rank, which merges read. */
static void
write_clock(const fd_trace *trace, const fd_trace_rank *rank,
            fd_json_writer *w)
{
    const char *facts = fd_rank_fact(trace, rank, "clock");
    int64_t offset = fd_rank_offset(trace, rank) - fd_first_offset(trace);
    fd_json_line(w);
    fd_json_begin_object(w, "clock");
    fd_json_put_text(w, "boot_id", rank->boot_id);
    fd_json_put_i64(w, "boottime_ns",
                    (int64_t)rank->start.boottime_ns - offset);
    if (facts != NULL && facts[0] == '{' && facts[1] != '}') {
        /* with the closing brace */
        fd_buffer_text(fd_json_put(w, NULL), facts + 1);
    }
    else {
        fd_json_end_object(w);
    }
}

void
fd_chrome_head(const fd_trace *trace, const fd_export_options *options,
               fd_buffer *to)
{
    int only = options->rank;
    const fd_trace_rank *ranks = trace->ranks.list;
    const fd_trace_rank *first = &ranks[only < 0 ? 0 : only];
    fd_json_writer w = {.to = to};
    fd_json_begin_object(&w, NULL);
    fd_json_put_text(&w, "displayTimeUnit", "ns");
    fd_json_put_u64(&w, "baseTimeNanoseconds",
                    options->clocks != NULL
                        ? (uint64_t)options->clocks_base_ns
                        : ranks[0].start.realtime_ns
                              + (uint64_t)fd_first_offset(trace));
    fd_json_begin_object(&w, "distributedInfo");
    fd_json_put_u64(&w, "rank", first->rank);
    fd_json_put_u64(&w, "world_size", first->world);
    fd_json_end_object(&w);
    write_fact(trace, first, "host", "host_name", &w);
    write_fact(trace, first, "coordinates", "coordinates", &w);
    if (only != FD_ALL_RANKS || trace->ranks.count == 1) {
        write_clock(trace, first, &w);
    }
    if (options->clocks != NULL) {
        fd_export_write_clocks(trace, options, &w);
    }
    fd_json_line(&w);
    fd_json_begin_array(&w, "recordings");
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        if (only == FD_ALL_RANKS || only == (int)i) {
            write_recording(trace, &ranks[i], &w);
        }
    }
    fd_json_line(&w);
    fd_json_end_array(&w);
}

void
fd_chrome_members(const fd_trace *trace, const fd_export_options *options,
                  fd_event_batch *batch)
{
    fd_buffer *head = fd_batch_compose(batch);
    fd_chrome_head(trace, options, head);
    fd_buffer_text(head, "}");
    fd_batch_members(batch, fd_batch_composed(batch));
}
