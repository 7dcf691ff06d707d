/* The recent call paths of a thread: a ring that the thread writes at each of
 * its events without a lock, and that one other thread reads.
 *
 *     entry   [ tick / 32 | context ]   ran until this tick, since that of
 *                                       the entry before
 */
#ifndef FD_RUNNING_LOG_H
#define FD_RUNNING_LOG_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    FD_RUNNING_LOG =
        1 << 18,        /* entries: 0.2 s of a million events per second */
    FD_LOG_UNIT = 5,    /* bits of a tick that are not kept */
    FD_LOG_CONTEXT = 24 /* bits of ids of contexts */
};

typedef struct fd_running_log {
    _Atomic uint64_t count; /* of entries that were written */
    uint64_t began;         /* tick at which the first entry begins */
    uint64_t cursor;        /* of the reader */
    uint32_t root;          /* context of the thread without any call */
    uint32_t number;        /* of the reader; 0: none */
    _Atomic uint64_t list[FD_RUNNING_LOG];
} fd_running_log;

/* Return an empty log, or NULL without memory. Free it with fd_free. */
fd_running_log *fd_running_log_new(uint32_t root, uint64_t now);

/* Add an entry: the thread ran `context` until now. */
static inline void
fd_running_log_put(fd_running_log *log, uint64_t now, uint32_t context)
{
    uint64_t count = atomic_load_explicit(&log->count, memory_order_relaxed);
    atomic_store_explicit(&log->list[count % FD_RUNNING_LOG],
                          now >> FD_LOG_UNIT << FD_LOG_CONTEXT | context,
                          memory_order_relaxed);
    atomic_store_explicit(&log->count, count + 1, memory_order_release);
}

/* Return the tick up to which the log is known. `near` is a tick within an
 * hour of it. */
uint64_t fd_running_log_until(const fd_running_log *log, uint64_t near);

/* A part of a time that was asked for. Context 0: not in the log. */
typedef void fd_running_part(void *user, uint32_t context, uint64_t from,
                             uint64_t to);

/* Call `part` for the parts of a time, in order and without holes. It is fast
 * if the times that are asked for rise. */
void fd_running_log_replay(fd_running_log *log, uint64_t from, uint64_t to,
                           fd_running_part *part, void *user);

#endif
