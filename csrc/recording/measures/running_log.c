#include "recording/measures/running_log.h"

#include "base/alloc.h"

#include <stdbool.h>

/* Entries that the thread may be overwriting. */
enum { MARGIN = 1024 };

fd_running_log *
fd_running_log_new(uint32_t root, uint64_t now)
{
    fd_running_log *log = fd_calloc(1, sizeof *log);
    if (log != NULL) {
        log->root = root;
        log->began = now >> FD_LOG_UNIT << FD_LOG_UNIT;
    }
    return log;
}

static uint64_t
entry_of(const fd_running_log *log, uint64_t at)
{
    return atomic_load_explicit(&log->list[at % FD_RUNNING_LOG],
                                memory_order_relaxed);
}

/* Return the tick of an entry: the one nearest to `near` with its low bits. */
static uint64_t
until_of(uint64_t entry, uint64_t near)
{
    uint64_t kept = near >> FD_LOG_UNIT << FD_LOG_CONTEXT;
    uint64_t high = entry >> FD_LOG_CONTEXT << FD_LOG_CONTEXT;
    int64_t units = (int64_t)(high - kept) / (1 << FD_LOG_CONTEXT);
    return ((near >> FD_LOG_UNIT) + (uint64_t)units) << FD_LOG_UNIT;
}

/* Return the index of the oldest entry that is still there. */
static uint64_t
oldest_of(uint64_t count)
{
    return count > FD_RUNNING_LOG - MARGIN ? count - FD_RUNNING_LOG + MARGIN
                                           : 0;
}

uint64_t
fd_running_log_until(const fd_running_log *log, uint64_t near)
{
    uint64_t count = atomic_load_explicit(&log->count, memory_order_acquire);
    return count == 0 ? log->began : until_of(entry_of(log, count - 1), near);
}

/* Move the cursor to the first entry that ends after `from`. */
static void
seek_entry(fd_running_log *log, uint64_t from, uint64_t oldest, uint64_t count)
{
    uint64_t at = log->cursor < oldest ? oldest : log->cursor;
    while (at > oldest && until_of(entry_of(log, at - 1), from) > from) {
        at--;
    }
    while (at < count && until_of(entry_of(log, at), from) <= from) {
        at++;
    }
    log->cursor = at;
}

/* Return the tick at which an entry begins. */
static uint64_t
begin_of(const fd_running_log *log, uint64_t at, uint64_t oldest,
         uint64_t near)
{
    if (at > oldest) {
        return until_of(entry_of(log, at - 1), near);
    }
    return oldest == 0 ? log->began : until_of(entry_of(log, at), near);
}

static bool
is_overwritten(const fd_running_log *log, uint64_t at)
{
    /* Order: the entry, then the number of entries. */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&log->count, memory_order_relaxed) - at
        >= FD_RUNNING_LOG;
}

void
fd_running_log_replay(fd_running_log *log, uint64_t from, uint64_t to,
                      fd_running_part *part, void *user)
{
    uint64_t count = atomic_load_explicit(&log->count, memory_order_acquire);
    uint64_t oldest = oldest_of(count);
    seek_entry(log, from, oldest, count);
    if (log->cursor < count) {
        uint64_t begin = begin_of(log, log->cursor, oldest, from);
        uint64_t known = begin < to ? begin : to;
        if (known > from) {
            part(user, 0, from, known);
            from = known;
        }
    }
    for (uint64_t at = log->cursor; at < count && from < to; at++) {
        uint64_t entry = entry_of(log, at);
        uint64_t until = until_of(entry, from);
        if (is_overwritten(log, at)) {
            break;
        }
        until = until < to ? until : to;
        if (until > from) {
            part(user, (uint32_t)(entry & ((1 << FD_LOG_CONTEXT) - 1)), from,
                 until);
            from = until;
        }
    }
    if (from < to) {
        part(user, 0, from, to);
    }
}
