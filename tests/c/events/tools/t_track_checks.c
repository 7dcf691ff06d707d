#include "check.h"
#include "spans.h"

#include "events/tools/track_checks.h"

#include <string.h>

/* One event: phase, thread or id, time, duration, name. */
typedef struct given {
    char phase;
    const char *where;
    int64_t time;
    int64_t duration;
    const char *name;
} given;

static fd_status
offer(fd_tracks *tracks, const given *list, size_t count)
{
    fd_status status = FD_OK;
    fd_tracks_begin(tracks);
    for (size_t i = 0; i < count && status == FD_OK; i++) {
        bool joined = strchr("stfbe", list[i].phase) != NULL;
        fd_timeline_event event = {.phase = list[i].phase,
                                   .name = span(list[i].name),

                                   .tid = span(joined ? "1" : list[i].where),
                                   .id = span(joined ? list[i].where : NULL),
                                   .has_start = true,
                                   .has_duration = true,
                                   .encloses = list[i].duration != 1,
                                   .start = list[i].time,
                                   .duration = list[i].duration};
        status = fd_tracks_add(tracks, &event,
                               (fd_fault_position){100 * (i + 1), i + 1});
    }
    return status;
}

static fd_status
judge(const given *list, size_t count, uint32_t most, fd_tracks *tracks,
      fd_faults *faults)
{
    bool done = false;
    fd_status status = FD_OK;
    *tracks = (fd_tracks){.most = most};
    *faults = (fd_faults){.count = {0}};
    while (!done && status == FD_OK) {
        status = offer(tracks, list, count);
        if (status == FD_OK) {
            status = fd_tracks_end(tracks, faults, &done);
        }
    }
    return status;
}

static uint64_t
sum(const fd_faults *faults)
{
    uint64_t all = 0;
    for (int i = 0; i < FD_FAULT_KINDS; i++) {
        all += faults->count[i];
    }
    return all;
}

#define JUDGE(...) \
    static const given list[] = {__VA_ARGS__}; \
    CLEAN(fd_tracks_clear) fd_tracks tracks = {.pass = 0}; \
    fd_faults faults; \
    OK(judge(list, sizeof list / sizeof *list, 0, &tracks, &faults))

static void
sound(void)
{
    JUDGE({'X', "1", 10, 5, "\"child\""}, {'X', "1", 10, 20, "\"parent\""},
          {'X', "1", 30, 0, "\"none\""}, {'X', "1", 30, 5, "\"next\""},
          {'E', "2", 30, 0, "\"b\""}, {'B', "2", 20, 0, "\"a\""},
          {'B', "2", 20, 0, "\"b\""}, {'E', "2", 30, 0, NULL},
          {'s', "7", 10, 0, "\"f\""}, {'t', "7", 12, 0, "\"f\""},
          {'f', "7", 35, 0, "\"f\""}, {'b', "8", 1, 0, "\"w\""},
          {'b', "8", 2, 0, "\"w\""}, {'e', "8", 3, 0, "\"w\""},
          {'e', "8", 4, 0, "\"w\""}, {'s', "9", 10, 0, "\"f\""},
          {'f', "9", 29, 1, "\"f\""});
    EQUAL(sum(&faults), 0);
    EQUAL(tracks.left_out, 0);
}

static void
overlaps(void)
{
    JUDGE({'X', "1", 10, 20, "\"a\""}, {'X', "1", 25, 6, "\"b\""},
          {'X', "1", 25, 5, "\"fits\""}, {'X', "2", 25, 6, "\"elsewhere\""},
          {'X', "3", 10, 20, "\"a\""}, {'B', "3", 15, 0, "\"b\""},
          {'E', "3", 31, 0, "\"b\""}, {'B', "4", 10, 0, "\"a\""},
          {'X', "4", 15, 10, "\"b\""}, {'E', "4", 20, 0, "\"a\""});
    EQUAL(sum(&faults), 3);
    EQUAL(faults.count[FD_FAULT_OVERLAP], 3);
    EQUAL(faults.first[FD_FAULT_OVERLAP][0].event, 2);
    EQUAL(faults.first[FD_FAULT_OVERLAP][1].event, 6);
    EQUAL(faults.first[FD_FAULT_OVERLAP][2].event, 8);
}

static void
overlaps_of_a_profiler(void)
{
    static const char *const cats[] = {"\"kernel\"", "\"kernel\"", "\"x\""};
    CLEAN(fd_tracks_clear) fd_tracks tracks = {.pass = 0};
    fd_faults faults = {.count = {0}};
    bool done;
    for (int i = 0; i < 3; i++) {
        fd_timeline_event event = {.phase = 'X',
                                   .cat = span(cats[i]),
                                   .has_start = true,
                                   .has_duration = true,
                                   .start = i,
                                   .duration = 10};
        OK(fd_tracks_add(&tracks, &event, (fd_fault_position){1, 1}));
    }
    OK(fd_tracks_end(&tracks, &faults, &done));
    EQUAL(faults.count[FD_FAULT_PROFILER_OVERLAP], 1);
    EQUAL(faults.count[FD_FAULT_OVERLAP], 1);
    EQUAL(fd_faults_broken(&faults), 1);
}

static void
ends(void)
{
    JUDGE({'E', "1", 5, 0, "\"a\""}, {'B', "1", 10, 0, "\"a\""},
          {'E', "1", 12, 0, "\"other\""}, {'B', "2", 10, 0, "\"b\""});
    EQUAL(faults.count[FD_FAULT_END], 1);
    EQUAL(faults.count[FD_FAULT_END_NAME], 1);
    EQUAL(faults.count[FD_FAULT_BEGIN], 2);
    EQUAL(sum(&faults), 4);
}

static void
flows(void)
{
    JUDGE({'X', "1", 0, 100, "\"all\""}, {'s', "1", 10, 0, "\"no end\""},
          {'f', "2", 10, 0, "\"no start\""}, {'f', "3", 10, 0, "\"early\""},
          {'s', "3", 20, 0, "\"early\""}, {'s', "4", 30, 0, "\"x\""},
          {'f', "4", 130, 0, "\"x\""}, {'s', "5", 30, 0, "\"y\""},
          {'f', "5", 50, 1, "\"y\""});
    EQUAL(faults.count[FD_FAULT_FLOW_END], 2);
    EQUAL(faults.count[FD_FAULT_FLOW_START], 2);
    EQUAL(faults.count[FD_FAULT_FLOW_SLICE], 2); /* at 130, none after 50 */
    EQUAL(sum(&faults), 6);
}

static void
asyncs(void)
{
    JUDGE({'b', "1", 10, 0, "\"a\""}, {'e', "2", 10, 0, "\"a\""},
          {'e', "3", 5, 0, "\"a\""}, {'b', "3", 6, 0, "\"a\""});
    EQUAL(faults.count[FD_FAULT_ASYNC_BEGIN], 2);
    EQUAL(faults.count[FD_FAULT_ASYNC_END], 2);
    EQUAL(sum(&faults), 4);
}

/* The same is found in many passes. */
static void
passes(void)
{
    given list[300];
    static const char *const threads[] = {"1", "2", "3", "4", "5",
                                          "6", "7", "8", "9", "\"10\""};
    CLEAN(fd_tracks_clear) fd_tracks tracks = {.pass = 0};
    CLEAN(fd_tracks_clear) fd_tracks long_one = {.pass = 0};
    fd_faults faults;
    for (int i = 0; i < 300; i++) {
        list[i] =
            (given){'X', threads[i % 10], i, i % 30 == 7 ? 11 : 10, "\"a\""};
    }
    OK(judge(list, 300, 120, &tracks, &faults));
    CHECK(tracks.passes > 1);
    EQUAL(tracks.left_out, 0);
    EQUAL(faults.count[FD_FAULT_OVERLAP], 10);
    for (int i = 0; i < 300; i++) {
        list[i].where = i < 290 ? "1" : "2";
    }
    OK(judge(list, 300, 100, &long_one, &faults));
    EQUAL(long_one.left_out, 290); /* one thread alone is too long */
}

RUN(TEST(sound), TEST(overlaps), TEST(overlaps_of_a_profiler), TEST(ends),
    TEST(flows), TEST(asyncs), TEST(passes))
