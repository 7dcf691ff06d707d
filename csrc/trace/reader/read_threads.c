#include "recording/followed_call.h"
#include "recording/wait_kinds.h"
#include "trace/reader/recording_reading.h"

/* Sum the ticks of every tree, by the id of its thread record. */
static void
sum_trees(fd_reading *r, fd_map *places, uint64_t *ticks)
{
    for (uint32_t i = 1; i < r->raw.count; i++) {
        const fd_context *record = r->records.list[i];
        uint32_t owner = r->owners.list[i];
        if (record == NULL || owner == 0
            || (record->flags & FD_CONTEXT_ASYNC) != 0) {
            continue;
        }
        uint32_t index = fd_map_get(places, owner);
        if (index == 0) {
            index = places->count + 1;
            fd_arena_put(&r->arena, places, owner, index);
        }
        ticks[index] += record->self;
    }
}

/* Return the calls of a thread that the latest look has found, if it was not
 * before tick `since`. */
static const fd_entry *
watched_calls(const fd_reading *r, const fd_thread_record *record,
              uint64_t since, uint32_t *depth)
{
    uint64_t look = fd_chunks_header(&r->file)->seen_alive;
    look = look > since ? look : since;
    FOR_EACH_CHUNK (r, FD_CHUNK_WATCHED, view) {
        if (view->header.owner == fd_reading_id(r, record)
            && view->header.partner == record->system_id
            && view->header.first >= look) {
            *depth = view->used;
            return view->records;
        }
    }
    *depth = 0;
    return NULL;
}

const fd_entry *
fd_reading_stack(const fd_reading *r, const fd_thread_record *record,
                 uint32_t *depth)
{
    if (record->running >= FD_THREAD_WATCHED) {
        bool quiet = record->running == FD_THREAD_QUIET;
        const fd_entry *found =
            watched_calls(r, record, quiet ? record->last : 0, depth);
        if (!quiet || *depth > 0) {
            return found;
        }
    }
    *depth = record->depth;
    uint64_t end = record->stack + (uint64_t)*depth * sizeof(fd_entry);
    if (record->running == FD_THREAD_NONE || *depth > record->capacity
        || record->stack < FD_PAGE || record->stack % sizeof(uint64_t) != 0
        || end > r->file.size || end < record->stack) {
        *depth = 0;
        return NULL;
    }
    return (const fd_entry *)(r->file.base + record->stack);
}

/* Return the line of the entry at `index` of a stack, or 0. */
static uint32_t
line_of_entry(const fd_reading *r, const fd_thread_record *record,
              const fd_entry *entry, uint32_t index)
{
    FOR_EACH_RECORD (r, FD_CHUNK_LINES, fd_open_line, line) {
        if (line->thread == fd_reading_id(r, record) && line->entry == index
            && line->check == FD_OPEN_LINE_CHECK(entry)) {
            return line->line;
        }
    }
    return 0;
}

/* Return the tick up to which the ages of followed calls count. Of a watched
 * thread it is the latest look, in the units of a start, because a call may
 * have ended since. `last` is the start of the innermost one. */
static uint64_t
end_of_followed(const fd_reading *r, const fd_thread_record *record,
                uint64_t last)
{
    const fd_header *header = fd_chunks_header(&r->file);
    if (record->running == FD_THREAD_WATCHED) {
        return fd_followed_tick(FD_FOLLOWED(0, header->seen_alive),
                                header->start.ticks);
    }
    return last > r->alive ? last : r->alive;
}

/* Add an open call, which is the entry at `index` of the stack. */
static void
add_open_call(fd_reading *r, const fd_thread_record *record, uint32_t context,
              uint64_t ticks, const fd_entry *entry, uint32_t index)
{
    if (context != 0) {
        fd_open_call call = {r->rank->threads.count - 1, context,
                             fd_reading_ns(r, ticks),
                             line_of_entry(r, record, entry, index)};
        fd_reading_push(r, &r->rank->open, call);
    }
}

static void
read_followed_calls(fd_reading *r, const fd_thread_record *record,
                    const fd_entry *entries)
{
    fd_followed_list found = fd_reading_followed(r, record);
    uint64_t last = found.count > 0
                      ? fd_reading_followed_start(r, found.list[0].entry)
                      : 0;
    uint64_t until = end_of_followed(r, record, last);
    for (uint32_t i = found.count; i-- > 0;) {
        const fd_followed_call *at = &found.list[i];
        uint64_t start = fd_reading_followed_start(r, at->entry);
        add_open_call(r, record, r->map[at->raw],
                      until > start ? until - start : 0, at->entry,
                      (uint32_t)(at->entry - entries));
    }
    fd_arena_drop(found.list);
}

static void
read_open_calls(fd_reading *r, const fd_thread_record *record)
{
    uint32_t depth;
    const fd_entry *entries = fd_reading_stack(r, record, &depth);
    uint64_t until = record->last > r->alive ? record->last : r->alive;
    for (uint32_t i = 0; i < depth; i++) {
        const fd_entry *entry = &entries[i];
        if ((entry->flags & FD_ENTRY_CONTRACTED) == 0) {
            uint64_t age = entry->start > 0 && until > entry->start
                             ? until - entry->start
                             : 0;
            add_open_call(r, record, fd_reading_context(r, entry->context),
                          age, entry, i);
        }
    }
    read_followed_calls(r, record, entries);
}

static void
read_thread(fd_reading *r, const fd_thread_record *record, uint64_t self)
{
    uint64_t running = record->attached != 0 && record->last > record->attached
                         ? record->last - record->attached
                         : 0;
    fd_trace_thread thread = {
        .role = fd_reading_text(r, record->role, 0),
        .system_id = record->system_id,
        .root = fd_reading_context(r, record->root),
        .running = record->running != FD_THREAD_NONE,
        .served = record->served,
        .covered = fd_reading_ns(r, record->covered + running),
        .self = fd_reading_ns(r, self),
        .events = record->events,
        .events_lost = record->events_lost,
        .cpu = record->cpu,
        .last = fd_reading_is_unfinished(r)
                  ? fd_reading_since_start(r, record->last)
                  : 0,
    };
    uint64_t still = record->still;
    uint64_t seen = fd_chunks_header(&r->file)->seen_alive;
    if (fd_reading_is_unfinished(r)) {
        thread.waits = seen == 0                      ? FD_WAIT_UNSEEN
                     : record->waits < FD_WAIT_UNSEEN ? record->waits
                                                      : FD_WAIT_UNKNOWN;
        thread.still =
            still != 0 && seen > still ? fd_reading_ns(r, seen - still) : 0;
    }
    fd_reading_push(r, &r->rank->threads, thread);
    read_open_calls(r, record);
}

void
fd_read_threads(fd_reading *r)
{
    fd_map *places = fd_arena_map(&r->arena);
    uint64_t *ticks = fd_arena_new(&r->arena, r->raw.count + 1, sizeof *ticks);
    sum_trees(r, places, ticks);
    FOR_EACH_RECORD (r, FD_CHUNK_THREADS, fd_thread_record, record) {
        read_thread(r, record,
                    ticks[fd_map_get(places, fd_reading_id(r, record))]);
    }
}
