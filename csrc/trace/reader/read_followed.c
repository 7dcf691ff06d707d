#include "recording/followed_call.h"
#include "trace/reader/recording_reading.h"

/* Followed calls have no context, only the number of their code: they match
 * the contexts below the last recorded call that were entered for this code,
 * in turn. If the class is unknown, several can match; the calls inside them
 * decide. Those around all that match are open. */
typedef struct followed_path {
    fd_reading *r;
    fd_followed_list calls; /* the levels in turn */
    uint32_t begin;         /* of the last level */
} followed_path;

/* More are only in a damaged file. */
enum { MOST_MATCHES = 64 };

static bool
is_called_for(const fd_reading *r, const fd_context *record,
              const fd_entry *entry)
{
    uint32_t class_id = entry->flags >> FD_ENTRY_CLASS_SHIFT;
    if (record == NULL
        || FD_FOLLOWED(record->callee, 0)
               != FD_FOLLOWED(entry->start >> FD_FOLLOWED_TICK_BITS, 0)
        || (class_id != (record->receiver & FD_ENTRY_ANY_CLASS)
            && class_id != FD_ENTRY_ANY_CLASS)) {
        return false;
    }
    const fd_node *node =
        fd_chunks_record(&r->file, FD_CHUNK_NODES, record->node);
    return node != NULL && node->kind == FD_NODE_PYTHON;
}

static void
add_match(followed_path *path, uint32_t raw, uint32_t parent,
          const fd_entry *entry)
{
    fd_followed_call call = {raw, parent, entry};
    fd_arena_push(&path->r->arena, &path->calls, call);
}

/* Add a level: the children of the last one that match an entry. Without a
 * match (a folded call, or one that is new here) the last level stays. Of
 * classes with the same low bits, only the latest can be alive. */
static void
add_level(followed_path *path, const fd_entry *entry)
{
    const fd_reading *r = path->r;
    uint32_t end = path->calls.count;
    bool known = entry->flags >> FD_ENTRY_CLASS_SHIFT != FD_ENTRY_ANY_CLASS;
    uint32_t latest = 0;
    for (uint32_t i = 1;
         i < r->raw.count && path->calls.count < end + MOST_MATCHES; i++) {
        const fd_context *record = r->records.list[i];
        if (!is_called_for(r, record, entry)
            || (known && record->receiver < latest)) {
            continue;
        }
        uint32_t parent = fd_reading_raw(r, record->parent);
        for (uint32_t at = path->begin; at < end; at++) {
            if (path->calls.list[at].raw == parent) {
                bool later = known && record->receiver > latest;
                latest = later ? record->receiver : latest;
                path->calls.count = later ? end : path->calls.count;
                add_match(path, i, at, entry);
            }
        }
    }
    path->begin = path->calls.count > end ? end : path->begin;
}

/* Return the innermost call around all matches of the last level. */
static uint32_t
call_around(const followed_path *path)
{
    const fd_followed_call *calls = path->calls.list;
    uint32_t found = path->begin;
    for (uint32_t at = path->begin + 1; at < path->calls.count; at++) {
        uint32_t other = at;
        while (found != other) {
            uint32_t *later = found > other ? &found : &other;
            *later = calls[*later].parent;
        }
    }
    return found;
}

uint64_t
fd_reading_followed_start(const fd_reading *r, const fd_entry *entry)
{
    uint64_t origin = fd_chunks_header(&r->file)->start.ticks;
    return fd_followed_tick(entry->start, origin);
}

/* Return the next followed entry at or after `at`. */
static uint32_t
next_followed(const fd_entry *entries, uint32_t at, uint32_t depth)
{
    while (at < depth
           && (entries[at].flags & (FD_ENTRY_FOLLOWED | FD_ENTRY_PENDING))
                  != FD_ENTRY_FOLLOWED) {
        at++;
    }
    return at;
}

fd_followed_list
fd_reading_followed(fd_reading *r, const fd_thread_record *record)
{
    uint32_t depth;
    const fd_entry *entries = fd_reading_stack(r, record, &depth);
    uint32_t at = next_followed(entries, 0, depth);
    followed_path path = {.r = r};
    fd_followed_list found = {NULL, 0, 0};
    if (at == depth || fd_chunks_header(&r->file)->state == FD_STATE_STOPPED) {
        return found;
    }
    add_match(&path, fd_reading_raw(r, entries[at].context), 0, NULL);
    for (; at < depth; at = next_followed(entries, at + 1, depth)) {
        add_level(&path, &entries[at]);
    }
    for (uint32_t i = call_around(&path); i > 0;
         i = path.calls.list[i].parent) {
        fd_arena_push(&r->arena, &found, path.calls.list[i]);
    }
    fd_arena_drop(path.calls.list);
    return found;
}
