#include "trace/rank_facts.h"

#include "json/json_scan.h"

#include <string.h>

const char *
fd_rank_fact(const fd_trace *trace, const fd_trace_rank *rank, const char *key)
{
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        const fd_trace_meta *meta = &rank->meta.list[i];
        if (strcmp(fd_trace_text(trace, meta->key), key) == 0) {
            return fd_trace_text(trace, meta->json);
        }
    }
    return NULL;
}

/* " | " and the words of a fact, if present. */
static void
add_fact(const fd_trace *trace, const fd_trace_rank *rank, const char *key,
         fd_buffer *to)
{
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        const fd_trace_meta *meta = &rank->meta.list[i];
        if (strcmp(fd_trace_text(trace, meta->key), key) == 0) {
            const char *json = fd_trace_text(trace, meta->json);
            char words[256];
            if (fd_span_words((fd_span){json, json + strlen(json)}, words,
                              sizeof words)) {
                fd_buffer_text(to, " | ");
                fd_buffer_text(to, words);
            }
        }
    }
}

void
fd_rank_label(const fd_trace *trace, const fd_trace_rank *rank, fd_buffer *to)
{
    fd_buffer_format(to, "rank %u", rank->rank);
    add_fact(trace, rank, "host", to);
    add_fact(trace, rank, "coordinates", to);
}

int64_t
fd_rank_offset(const fd_trace *trace, const fd_trace_rank *rank)
{
    const fd_trace_rank *first = &trace->ranks.list[0];
    bool same_host = strcmp(rank->boot_id, first->boot_id) == 0;
    uint64_t own =
        same_host ? rank->start.boottime_ns : rank->start.realtime_ns;
    uint64_t base =
        same_host ? first->start.boottime_ns : first->start.realtime_ns;
    return (int64_t)(own - base);
}

int64_t
fd_first_offset(const fd_trace *trace)
{
    int64_t first = 0;
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        int64_t offset = fd_rank_offset(trace, &trace->ranks.list[i]);
        first = offset < first ? offset : first;
    }
    return first;
}
