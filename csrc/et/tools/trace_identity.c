#include "et/tools/trace_identity.h"

#include "et/collectives.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)
/* Times before this are not counted from 1970, but from a start of the
 * computer. */
#define YEAR_2001 (INT64_C(978307200) * SECOND)
/* Time zones differ from UTC by up to 14 hours. */
#define ZONES (15 * HOUR)

/* "2026-11-22 05:02:45", as if in UTC; 0: another text. */
static int64_t
parse_time(const char *text)
{
    struct tm tm = {.tm_sec = 0};
    if (sscanf(text, "%4d-%2d-%2d %2d:%2d:%2d", &tm.tm_year, &tm.tm_mon,
               &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec)
        != 6) {
        return 0;
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    int64_t seconds = (int64_t)timegm(&tm);
    bool good = seconds > YEAR_2001 / SECOND && seconds < INT64_MAX / SECOND;
    return good ? seconds * SECOND : 0;
}

fd_et_identity
fd_et_identity_of(const fd_et *et)
{
    fd_et_identity made = {.pid = et->pid, .local = true};
    made.rank = et->rank >= 0 ? et->rank : fd_et_find_rank(et);
    made.begin_ns = parse_time(fd_et_text(et, et->time));
    int64_t ms = fd_minus(et->finish_ts, et->start_ts);
    bool known = et->finished && ms > 0 && ms < INT64_MAX / 1000000;
    made.end_ns = fd_plus(made.begin_ns, known ? ms * 1000000 : 0);
    return made;
}

fd_et_identity
fd_et_identity_of_kineto(const fd_kineto *k)
{
    fd_et_identity made = {.pid = k->pid, .rank = k->rank};
    int64_t begin = fd_plus(k->base_ns, k->begin_ns);
    if (k->ops.count > 0 && begin > YEAR_2001) {
        made.begin_ns = begin;
        made.end_ns = fd_plus(k->base_ns, k->end_ns);
    }
    return made;
}

static void
put_time(int64_t ns, char text[32])
{
    time_t seconds = (time_t)(ns / SECOND);
    struct tm tm;
    if (gmtime_r(&seconds, &tm) == NULL
        || strftime(text, 32, "%Y-%m-%d %H:%M", &tm) == 0) {
        snprintf(text, 32, "%" PRId64 " s", ns / SECOND);
    }
}

/* The profiler may start late in an execution trace of several hours. */
static bool
is_other_time(const fd_et_identity *et, const fd_et_identity *kineto)
{
    return et->begin_ns != 0 && kineto->begin_ns != 0
        && (kineto->end_ns < et->begin_ns - ZONES
            || kineto->begin_ns > et->end_ns + ZONES);
}

fd_status
fd_et_compare_identity(const fd_et_identity *et, const fd_et_identity *kineto,
                       const char *path, fd_error *error)
{
    if (et->rank >= 0 && kineto->rank >= 0 && et->rank != kineto->rank) {
        return fd_fail(error, FD_EFORMAT,
                       "%s: a Kineto trace of rank %" PRId64
                       ", but the execution trace is of rank %" PRId64,
                       path, kineto->rank, et->rank);
    }
    if (et->pid != 0 && kineto->pid != 0 && et->pid != kineto->pid) {
        return fd_fail(error, FD_EFORMAT,
                       "%s: a Kineto trace of process %" PRIu64
                       ", but the execution trace is of process %" PRIu64,
                       path, kineto->pid, et->pid);
    }
    if (is_other_time(et, kineto)) {
        char times[2][32];
        put_time(kineto->begin_ns, times[0]);
        put_time(et->begin_ns, times[1]);
        return fd_fail(error, FD_EFORMAT,
                       "%s: a Kineto trace of %s UTC, but the execution trace "
                       "is of %s local time",
                       path, times[0], times[1]);
    }
    return FD_OK;
}
