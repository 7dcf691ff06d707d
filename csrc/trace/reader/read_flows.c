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

/* Store a flow. It is not an event: fd_read_flows finds its two calls when all
 * calls are known. */
void
fd_read_flow(fd_reading *r, const fd_event *event, uint16_t thread)
{
    const fd_context *context =
        fd_chunks_record(&r->file, FD_CHUNK_CONTEXTS, event->context);
    uint32_t origin = context != NULL ? context->origin : 0;
    uint32_t from = thread_of(r, origin);
    r->rank->threads.list[thread].events--;
    if (from == 0 || from > UINT16_MAX) {
        r->rank->flows_lost++;
        return;
    }
    fd_raw_flow flow = {
        .ends = {fd_reading_since_start(r, event->ticks),
                 fd_reading_since_start(r, event->start)},
        .contexts = {fd_reading_context(r, origin),
                     fd_reading_context(r, event->context)},
        .threads = {(uint16_t)(from - 1), thread},
    };
    fd_arena_push(&r->arena, &r->flows, flow);
}

/* The ends of flows: number 2 * flow for the start, + 1 for the end. Ends at
 * one call form a list. */
typedef struct ends {
    fd_map *first;  /* hash of a call -> number + 1 of its first end */
    uint32_t *next; /* number + 1 of the next end at the same call */
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

static ends
list_ends(fd_reading *r)
{
    ends e = {.first = fd_arena_map(&r->arena),
              .next = fd_arena_new(&r->arena, 2 * (size_t)r->flows.count,
                                   sizeof *e.next)};
    for (uint32_t i = 0; i < 2 * r->flows.count; i++) {
        const fd_raw_flow *flow = &r->flows.list[i / 2];
        int side = i % 2;
        uint64_t hash = hash_of(flow->ends[side], flow->contexts[side],
                                flow->threads[side]);
        e.next[i] = fd_map_get(e.first, hash);
        fd_arena_put(&r->arena, e.first, hash, i + 1);
    }
    return e;
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
            e->first, hash_of(event->start, event->context, event->thread));
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

void
fd_read_flows(fd_reading *r)
{
    size_t count = r->flows.count;
    if (count == 0) {
        return;
    }
    fd_trace_flow *found = fd_arena_new(&r->arena, count, sizeof *found);
    ends e = list_ends(r);
    memset(found, 0xff, count * sizeof *found);
    find_calls(r, &e, found);
    for (size_t i = 0; i < count; i++) {
        if (found[i].from == UINT32_MAX || found[i].to == UINT32_MAX) {
            r->rank->flows_lost++;
        }
        else {
            fd_reading_push(r, &r->rank->flows, found[i]);
        }
    }
}
