#include "check.h"

#include "base/alloc.h"
#include "recording/measures/running_log.h"

#include <pthread.h>
#include <string.h>

typedef struct seen {
    uint32_t context[8];
    uint64_t ticks[8];
    uint32_t count;
    uint64_t until; /* end of the latest part */
    bool joined;    /* whether each part began at the end of the last one */
} seen;

static void
note_part(void *user, uint32_t context, uint64_t from, uint64_t to)
{
    seen *parts = user;
    parts->joined &= from == parts->until && to > from;
    parts->until = to;
    if (parts->count < 8) {
        parts->context[parts->count] = context;
        parts->ticks[parts->count] = to - from;
    }
    parts->count++;
}

static void
replay(fd_running_log *log, uint64_t from, uint64_t to, seen *parts)
{
    *parts = (seen){.until = from, .joined = true};
    fd_running_log_replay(log, from, to, note_part, parts);
    CHECK(parts->joined);
    EQUAL(parts->until, to);
}

static void
free_log(fd_running_log **log)
{
    fd_free(*log);
}

#define LOG(log, now) \
    CLEAN(free_log) fd_running_log *log = fd_running_log_new(1, now); \
    CHECK(log != NULL || check_refused()); \
    if (log == NULL) { \
        return; \
    }

/* The parts cover the time, whatever is asked for. */
ABSORBS(divides_time)
{
    LOG(log, 3200);
    EQUAL(fd_running_log_until(log, 3000), 3200);
    fd_running_log_put(log, 6400, 7);
    fd_running_log_put(log, 9600, 8);
    fd_running_log_put(log, 9600, 9); /* in no time */
    fd_running_log_put(log, 12800, 7);
    EQUAL(fd_running_log_until(log, 20000), 12800);
    seen parts;
    replay(log, 5000, 12000, &parts);
    FIELDS(&parts, (count, 3), (context[0], 7), (ticks[0], 1400),
           (context[1], 8), (ticks[1], 3200), (ticks[2], 2400));
    replay(log, 1000, 4000, &parts); /* before the log, and back */
    FIELDS(&parts, (count, 2), (context[0], 0), (ticks[0], 2200),
           (context[1], 7));
    replay(log, 10000, 20000, &parts); /* after it */
    FIELDS(&parts, (count, 2), (context[1], 0), (ticks[1], 7200));
    replay(log, 50000, 50001, &parts);
    FIELDS(&parts, (count, 1), (context[0], 0));
}

/* Ticks of a machine that runs for years, and ids of the largest file. */
ABSORBS(ticks_are_large)
{
    uint64_t year = UINT64_C(100000000000000000) / 32 * 32;
    LOG(log, year);
    fd_running_log_put(log, year + 320, (1 << FD_LOG_CONTEXT) - 1);
    fd_running_log_put(log, year + UINT64_C(3600) * 3000000000, 5);
    seen parts;
    replay(log, year, year + 640, &parts);
    FIELDS(&parts, (count, 2), (context[0], (1 << FD_LOG_CONTEXT) - 1),
           (ticks[0], 320), (context[1], 5));
}

/* Overwritten entries are not known. */
ABSORBS(old_entries_are_overwritten)
{
    LOG(log, 0);
    uint64_t count = FD_RUNNING_LOG + 10000;
    for (uint64_t i = 1; i <= count; i++) {
        fd_running_log_put(log, 32 * i, 2);
    }
    seen parts;
    replay(log, 0, 32 * count, &parts);
    EQUAL(parts.context[0], 0);
    CHECK(parts.ticks[0] >= UINT64_C(32) * 10000);
    CHECK(parts.ticks[0] <= UINT64_C(32) * 12000);
    FIELDS(&parts, (context[1], 2), (ticks[1], 32));
}

static void *
write_log(void *argument)
{
    for (uint64_t i = 1; i <= 3 * FD_RUNNING_LOG; i++) {
        fd_running_log_put(argument, 32 * i, (uint32_t)(i % 5) + 2);
    }
    return NULL;
}

static void
check_part(void *user, uint32_t context, uint64_t from, uint64_t to)
{
    seen *parts = user;
    parts->joined &= from == parts->until && to > from;
    parts->joined &= context == 0 || context == (to / 32) % 5 + 2;
    parts->until = to;
}

/* A reader never takes a new entry for an old one. */
ONCE(is_read_while_it_is_written)
{
    LOG(log, 0);
    pthread_t writer;
    EQUAL(pthread_create(&writer, NULL, write_log, log), 0);
    for (uint64_t from = 0; from < 32 * 3 * FD_RUNNING_LOG;) {
        uint64_t until = fd_running_log_until(log, from) / 32 * 32;
        until = until > from + 32 ? from + (until - from) / 64 * 32 : from;
        seen parts = {.until = from, .joined = true};
        fd_running_log_replay(log, from, until + 32, check_part, &parts);
        CHECK(parts.joined);
        from = until + 32;
    }
    pthread_join(writer, NULL);
}
