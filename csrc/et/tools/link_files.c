#include "et/tools/link_files.h"

#include "et/collectives.h"
#include "et/et_file.h"
#include "et/et_names.h"
#include "et/process_group_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)
/* Earlier times are counted from the boot of the machine, not from 1970. */
#define YEAR_2001 (INT64_C(978307200) * SECOND)
/* Time zones differ from UTC by up to 14 hours. */
#define ZONES (15 * HOUR)

/* Parse "2026-11-22 05:02:45" as UTC; return 0 for other text. */
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

static void
add_members(fd_arena *arena, fd_et_identity *identity, const char *list)
{
    for (list += strcspn(list, "0123456789"); *list != '\0';
         list += strcspn(list, "0123456789")) {
        char *end;
        unsigned long rank = strtoul(list, &end, 10);
        fd_arena_push(arena, &identity->members, (uint32_t)rank);
        list = end;
    }
}

static void
keep_members(fd_et_identity *identity, const char *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < identity->members.count; i++) {
        uint32_t rank = identity->members.list[i];
        if (fd_et_lists_rank(list, rank)) {
            identity->members.list[count++] = rank;
        }
    }
    identity->members.count = count;
}

static void
find_members(fd_et_identity *identity, fd_et *et)
{
    bool any = false;
    for (uint32_t i = 0; i < et->groups.count; i++) {
        const char *list = fd_et_text(et, et->groups.list[i].ranks);
        if (fd_et_lists_all(list)) {
            continue;
        }
        if (any) {
            keep_members(identity, list);
        }
        else {
            add_members(&et->arena, identity, list);
        }
        any = true;
    }
}

void
fd_et_identity_of(fd_et_identity *identity, fd_et *et)
{
    *identity = (fd_et_identity){.pid = et->pid};
    identity->rank = et->rank >= 0 ? et->rank : fd_et_find_rank(et);
    identity->begin_ns = parse_time(fd_et_text(et, et->time));
    int64_t ms = fd_minus(et->finish_ts, et->start_ts);
    bool known = et->finished && ms > 0 && ms < INT64_MAX / 1000000;
    identity->end_ns = fd_plus(identity->begin_ns, known ? ms * 1000000 : 0);
    if (identity->rank >= 0) {
        return;
    }
    find_members(identity, et);
    if (identity->members.count == 1) {
        identity->rank = identity->members.list[0];
    }
}

static fd_et_identity
identity_of_kineto(const fd_kineto *k)
{
    fd_et_identity identity = {.pid = k->pid, .rank = k->rank};
    int64_t begin = fd_plus(k->base_ns, k->begin_ns);
    if (k->ops.count > 0 && begin > YEAR_2001) {
        identity.begin_ns = begin;
        identity.end_ns = fd_plus(k->base_ns, k->end_ns);
    }
    return identity;
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

/* Return whether times are too far apart. The profiler can start late in an
 * execution trace of several hours. */
static bool
is_other_time(const fd_et_identity *et, const fd_et_identity *kineto)
{
    return et->begin_ns != 0 && kineto->begin_ns != 0
        && (kineto->end_ns < et->begin_ns - ZONES
            || kineto->begin_ns > et->end_ns + ZONES);
}

static bool
is_member(const fd_et_identity *et, int64_t rank)
{
    for (uint32_t i = 0; i < et->members.count; i++) {
        if (et->members.list[i] == rank) {
            return true;
        }
    }
    return et->members.count == 0;
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
    if (et->rank < 0 && kineto->rank >= 0 && !is_member(et, kineto->rank)) {
        return fd_fail(error, FD_EFORMAT,
                       "%s: a Kineto trace of rank %" PRId64
                       ", which is not in all process groups of the execution "
                       "trace",
                       path, kineto->rank);
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

fd_status
fd_et_link_files(fd_et *et, const char *path, const char *kineto,
                 fd_et_link_options options, fd_et_link *link, fd_kineto *read,
                 fd_error *error)
{
    fd_et_identity identity;
    *et = (fd_et){.rank = -1};
    if (fd_arena_caught(&et->arena, error)) {
        return et->arena.status;
    }
    fd_et_format format = fd_et_read(et, path);
    if (format != FD_ET_PYTORCH) {
        fd_arena_fail(&et->arena,
                      fd_fail(error, FD_EINVAL,
                              "%s: a %s: give PyTorch's execution trace to "
                              "link",
                              path, fd_et_format_name(format)));
    }
    fd_et_find_groups(et);
    fd_et_identity_of(&identity, et);
    fd_kineto_read(read, et, kineto);
    fd_et_identity other = identity_of_kineto(read);
    if (!options.forced) {
        fd_arena_check(&et->arena, fd_et_compare_identity(&identity, &other,
                                                          kineto, error));
    }
    fd_et_link_kineto(et, read, link);
    link->compared = (identity.pid != 0 && other.pid != 0)
                  || (identity.rank >= 0 && other.rank >= 0);
    fd_et_derive(et, options.kinds);
    return fd_arena_left(&et->arena);
}

fd_status
fd_et_read_identity(fd_et *et, const char *path, fd_et_identity *identity,
                    fd_error *error)
{
    fd_kineto kineto;
    *et = (fd_et){.rank = -1};
    if (fd_arena_caught(&et->arena, error)) {
        return et->arena.status;
    }
    if (fd_et_read(et, path) == FD_ET_KINETO) {
        fd_kineto_read(&kineto, et, path);
        *identity = identity_of_kineto(&kineto);
    }
    else {
        fd_et_find_groups(et);
        fd_et_identity_of(identity, et);
    }
    return fd_arena_left(&et->arena);
}
