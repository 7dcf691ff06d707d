#include "check.h"

#include "base/buffer.h"
#include "profile/timeline_rows.h"

#include <string.h>

static void
clear_rows(fd_timeline_rows *rows)
{
    fd_arena_clear(&rows->arena);
}

/* Rows as text: thread, depth and context, start and duration. */
static void
describe(const fd_timeline_rows *rows, fd_buffer *to)
{
    for (uint32_t i = 0; i < rows->list.count; i++) {
        const fd_timeline_call *call = &rows->list.list[i];
        fd_buffer_format(to, "%u.%u%c%u %llu+%llu%s ", call->thread,
                         call->depth, call->job != 0 ? 'j' : 'c',
                         call->context, (unsigned long long)call->start,
                         (unsigned long long)call->duration,
                         call->async  ? "~"
                         : call->open ? "?"
                                      : "");
    }
    for (uint32_t i = 0; i < rows->flows.count; i++) {
        fd_buffer_format(to, "%u>%u ", rows->flows.list[i].from,
                         rows->flows.list[i].to);
    }
    fd_buffer_format(to, "-%llu -%llu", (unsigned long long)rows->left_out,
                     (unsigned long long)rows->flows_left_out);
    fd_buffer_bytes(to, "", 1);
}

/* main: c1 0-100 with c2 10-40 (c3 20-25 in it), a job 50-90 of c4, work that
 * ends by itself, a step; a second thread: c5, open. Arrow from c3 to c5. */
static void
make(fd_trace_rank *rank)
{
    static fd_trace_event events[] = {
        {20, 5, 3, 0, FD_EVENT_CALL},   {10, 30, 2, 0, FD_EVENT_CALL},
        {50, 40, 0, 0, FD_EVENT_JOB},   {0, 100, 1, 0, FD_EVENT_CALL},
        {30, 80, 6, 0, FD_EVENT_ASYNC}, {0, 100, 7, 0, FD_EVENT_STEP},
        {5, 60, 5, 1, FD_EVENT_OPEN},
    };
    static fd_trace_job jobs[] = {{.context = 4, .start = 50, .duration = 40}};
    static fd_trace_flow flows[] = {{0, 6}};
    memset(rank, 0, sizeof *rank);
    rank->events.list = events;
    rank->events.count = sizeof events / sizeof *events;
    rank->jobs.list = jobs;
    rank->jobs.count = 1;
    rank->flows.list = flows;
    rank->flows.count = 1;
}

#define STRIPS(most, text) \
    do { \
        fd_trace_rank rank; \
        CLEAN(clear_rows) fd_timeline_rows rows; \
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL}; \
        make(&rank); \
        OK(fd_timeline_rows_make(&rows, &rank, most)); \
        describe(&rows, &to); \
        OK(to.status); \
        SAME(to.bytes, text); \
    } while (0)

TEST(calls_have_the_depth_of_their_callers)
{
    STRIPS(100, "0.0c1 0+100 0.1c2 10+30 0.2c3 20+5 0.1j4 50+40 0.0c6 30+80~ "
                "1.0c5 5+60? 2>5 -0 -0");
}

TEST(the_longest_are_kept)
{
    STRIPS(3, "0.0c1 0+100 0.0c6 30+80~ 1.0c5 5+60? -3 -1");
    STRIPS(0, "-6 -1");
}

TEST(of_equals_the_first)
{
    fd_trace_event events[] = {{0, 5, 1, 0, FD_EVENT_CALL},
                               {5, 5, 2, 0, FD_EVENT_CALL},
                               {10, 5, 3, 0, FD_EVENT_CALL}};
    fd_trace_rank rank;
    CLEAN(clear_rows) fd_timeline_rows rows;
    memset(&rank, 0, sizeof rank);
    rank.events.list = events;
    rank.events.count = 3;
    OK(fd_timeline_rows_make(&rows, &rank, 2));
    FIELDS(&rows, (list.count, 2), (list.list[1].context, 2), (left_out, 1));
}
