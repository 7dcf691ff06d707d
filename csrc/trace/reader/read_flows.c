#include "trace/reader/recording_reading.h"

#include "base/hash.h"

#include <string.h>

/* Return the thread of a context of the file, which its raw context states. */
static uint32_t
thread_of(const fd_reading *r, uint32_t context)
{
    uint32_t raw = fd_reading_raw(r, context);
    return raw == 0 ? 0 : fd_map_get(&r->threads, r->owners.list[raw]);
}

static uint64_t
since_start(const fd_reading *r, uint64_t tick)
{
    uint64_t origin = fd_chunks_header(&r->file)->start.ticks;
    return fd_reading_ns(r, tick > origin ? tick - origin : 0);
}

/* Store a flow. It is not an event: fd_read_flows finds its two calls when all
 * calls are known. */
fd_status
fd_read_flow(fd_reading *r, const fd_event *event, uint16_t thread)
{
    const fd_context *context =
        fd_chunks_record(&r->file, FD_CHUNK_CONTEXTS, event->context);
    uint32_t origin = context != NULL ? context->origin : 0;
    uint32_t from = thread_of(r, origin);
    r->rank->threads.list[thread].events--;
    if (from == 0 || from > UINT16_MAX) {
        r->rank->flows_lost++;
        return FD_OK;
    }
    fd_raw_flow flow = {
        .ends = {since_start(r, event->ticks), since_start(r, event->start)},
        .contexts = {fd_reading_context(r, origin),
                     fd_reading_context(r, event->context)},
        .threads = {(uint16_t)(from - 1), thread},
    };
    return fd_vector_push(&r->flows, flow);
}

/* The ends of flows: number 2 * flow for the start, + 1 for the end. Ends at
 * one call form a list. */
typedef struct ends {
    fd_map first;   /* hash of a call -> number + 1 of its first end */
    uint32_t *next; /* owned; number + 1 of the next end at the same call */
} ends;

static uint64_t
hash_of(uint64_t start, uint32_t context, uint16_t thread)
{
    return fd_hash_next(fd_hash_word(start), (uint64_t)thread << 32 | context)
         | 1;
}

static bool
is_end(const fd_raw_flow *flow, int side, const fd_trace_event *event)
{
    return flow->ends[side] == event->start
        && flow->contexts[side] == event->context
        && flow->threads[side] == event->thread;
}

static fd_status
list_ends(const fd_reading *r, ends *e)
{
    fd_status status = FD_OK;
    e->next = fd_calloc(2 * (size_t)r->flows.count + 1, sizeof *e->next);
    if (e->next == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < 2 * r->flows.count && status == FD_OK; i++) {
        const fd_raw_flow *flow = &r->flows.list[i / 2];
        int side = i % 2;
        uint64_t hash = hash_of(flow->ends[side], flow->contexts[side],
                                flow->threads[side]);
        e->next[i] = fd_map_get(&e->first, hash);
        status = fd_map_put(&e->first, hash, i + 1);
    }
    return status;
}

/* Find the calls of flows; of calls that begin at the same time, the first one
 * to end. */
static void
find_calls(const fd_reading *r, const ends *e, fd_trace_flow *found)
{
    for (uint32_t i = 0; i < r->rank->events.count; i++) {
        const fd_trace_event *event = &r->rank->events.list[i];
        if (event->kind != FD_EVENT_CALL && event->kind != FD_EVENT_OPEN) {
            continue;
        }
        uint32_t end = fd_map_get(
            &e->first, hash_of(event->start, event->context, event->thread));
        for (; end != 0; end = e->next[end - 1]) {
            int side = (end - 1) % 2;
            uint32_t *index = side == 0 ? &found[(end - 1) / 2].from
                                        : &found[(end - 1) / 2].to;
            if (*index == UINT32_MAX
                && is_end(&r->flows.list[(end - 1) / 2], side, event)) {
                *index = i;
            }
        }
    }
}

fd_status
fd_read_flows(fd_reading *r)
{
    ends e = {.next = NULL};
    if (r->flows.count == 0) {
        return FD_OK;
    }
    fd_trace_flow *found = fd_malloc(r->flows.count * sizeof *found);
    fd_status status = found != NULL ? list_ends(r, &e) : FD_ENOMEM;
    if (status == FD_OK) {
        memset(found, 0xff, r->flows.count * sizeof *found);
        find_calls(r, &e, found);
    }
    for (uint32_t i = 0; i < r->flows.count && status == FD_OK; i++) {
        if (found[i].from == UINT32_MAX || found[i].to == UINT32_MAX) {
            r->rank->flows_lost++;
        }
        else {
            status = fd_vector_push(&r->rank->flows, found[i]);
        }
    }
    fd_map_clear(&e.first);
    fd_free(e.next);
    fd_free(found);
    return status;
}
