#include "events/recorded/chrome_head.h"

#include "events/recorded/slice_names.h"
#include "trace/trace.h"
#include "trace/trace_columns.h"

#include <inttypes.h>
#include <string.h>

static void
write_texts(const fd_trace *trace, const fd_trace_rank *rank, fd_buffer *to)
{
    fd_buffer_text(to, "\"notes\":[");
    for (uint32_t i = 0; i < rank->notes.count; i++) {
        uint32_t note = rank->notes.list[i];
        fd_buffer_text(to, i > 0 ? "," : "");
        fd_buffer_json(to, fd_trace_text(trace, note),
                       fd_text_pool_size(&trace->texts, note));
    }
    fd_buffer_text(to, "],\"facts\":{");
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        const fd_trace_meta *fact = &rank->meta.list[i];
        fd_buffer_text(to, i > 0 ? "," : "");
        fd_buffer_json(to, fd_trace_text(trace, fact->key),
                       fd_text_pool_size(&trace->texts, fact->key));
        fd_buffer_text(to, ":");
        fd_buffer_text(to, fd_trace_text(trace, fact->json));
    }
    fd_buffer_text(to, "}");
}

/* `start`: its clocks at its time 0. */
static void
write_recording(const fd_trace *trace, const fd_trace_rank *rank,
                fd_buffer *to)
{
    fd_buffer_format(to,
                     "{\"rank\":%u,\"world_size\":%u,\"pid\":%u,\"id\":\"%s\","
                     "\"state\":\"%s\",\"boot_id\":\"%s\",",
                     rank->rank, rank->world, rank->pid, rank->id,
                     fd_state_names[rank->state], rank->boot_id);
    fd_buffer_format(to,
                     "\"start\":{\"monotonic\":%" PRIu64
                     ",\"boottime\":%" PRIu64 ",\"realtime\":%" PRIu64 "},\n",
                     rank->start.monotonic_ns, rank->start.boottime_ns,
                     rank->start.realtime_ns);
    write_texts(trace, rank, to);
    fd_buffer_text(to, "}");
}

/* A fact under the name that other programs use. */
static void
write_fact(const fd_trace *trace, const fd_trace_rank *rank, const char *key,
           const char *as, fd_buffer *to)
{
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        const fd_trace_meta *fact = &rank->meta.list[i];
        if (strcmp(fd_trace_text(trace, fact->key), key) == 0) {
            fd_buffer_format(to, "\"%s\":", as);
            fd_buffer_text(to, fd_trace_text(trace, fact->json));
            fd_buffer_text(to, ",\n");
        }
    }
}

/* The clock of a file with one rank, for merges. */
static void
write_clock(const fd_trace *trace, const fd_trace_rank *rank, fd_buffer *to)
{
    const char *facts = fd_rank_fact(trace, rank, "clock");
    int64_t offset = fd_rank_offset(trace, rank) - fd_first_offset(trace);
    fd_buffer_format(to,
                     "\"clock\":{\"boot_id\":\"%s\",\"boottime_ns\":%" PRId64,
                     rank->boot_id, (int64_t)rank->start.boottime_ns - offset);
    bool any = facts != NULL && facts[0] == '{' && facts[1] != '}';
    fd_buffer_text(to, any ? "," : "}");
    fd_buffer_text(to, any ? facts + 1 : "");
    fd_buffer_text(to, ",\n");
}

void
fd_chrome_head(const fd_trace *trace, const fd_export_options *options,
               fd_buffer *to)
{
    int only = options->rank;
    const fd_trace_rank *ranks = trace->ranks.list;
    const fd_trace_rank *first = &ranks[only < 0 ? 0 : only];
    fd_buffer_format(to,
                     "{\"displayTimeUnit\":\"ns\","
                     "\"baseTimeNanoseconds\":%" PRIu64 ","
                     "\"distributedInfo\":{\"rank\":%u,\"world_size\":%u},\n",
                     options->clocks != NULL
                         ? (uint64_t)options->clocks_base_ns
                         : ranks[0].start.realtime_ns
                               + (uint64_t)fd_first_offset(trace),
                     first->rank, first->world);
    write_fact(trace, first, "host", "host_name", to);
    write_fact(trace, first, "coordinates", "coordinates", to);
    if (only != FD_ALL_RANKS || trace->ranks.count == 1) {
        write_clock(trace, first, to);
    }
    if (options->clocks != NULL) {
        fd_export_write_clocks(trace, options, to);
    }
    fd_buffer_text(to, "\"recordings\":[");
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        if (only == FD_ALL_RANKS || only == (int)i) {
            fd_buffer_text(to, &ranks[i] == first ? "\n" : ",\n");
            write_recording(trace, &ranks[i], to);
        }
    }
    fd_buffer_text(to, "\n]");
}

fd_status
fd_chrome_members(const fd_trace *trace, const fd_export_options *options,
                  fd_event_batch *batch)
{
    fd_buffer head = {.bytes = NULL};
    fd_chrome_head(trace, options, &head);
    fd_buffer_text(&head, "}");
    fd_status status = head.status;
    if (status == FD_OK) {
        fd_batch_members(batch, fd_span_of(&head));
    }
    fd_buffer_clear(&head);
    return status;
}
