#include "check.h"
#include "timelines.h"

#include "events/stats/slice_reader.h"

#include <stdio.h>
#include <string.h>

static fd_status
take(fd_timeline_slices *slices, const char *text, fd_slice *slice,
     bool *whole)
{
    fd_timeline_event event;
    fd_status status = fixture_event(text, &event);
    return status == FD_OK
             ? fd_timeline_slices_take(slices, &event, slice, whole)
             : status;
}

#define EVENT(ph, rest) "{\"ph\":\"" ph "\",\"pid\":1,\"tid\":2," rest "}"

#define SLICES(slices, slice, whole) \
    CLEAN(fd_timeline_slices_clear) fd_timeline_slices slices = {.free = 0}; \
    fd_slice slice; \
    bool whole

TEST(complete)
{
    SLICES(slices, slice, whole);
    OK(take(&slices,
            EVENT("X",
                  "\"cat\":\"job\",\"name\":\"forward_3 (1 ms)\",\"ts\":1,"
                  "\"dur\":2.5,\"args\":{\"stage\":1,\"step\":4}"),
            &slice, &whole));
    CHECK(whole);
    FIELDS(&slice, (start, 1000), (end, 3500), (stage, 1), (step, 4));
    SAME(fd_text_pool_get(&slices.texts, slice.name), "forward_3");
    SAME(fd_text_pool_get(&slices.texts, slice.type), "forward");
    OK(take(&slices, EVENT("X", "\"name\":\"a\",\"ts\":1,\"dur\":-2"), &slice,
            &whole));
    CHECK(!whole && slices.timeless == 1);
    OK(take(&slices, EVENT("i", "\"name\":\"a\",\"ts\":1"), &slice, &whole));
    CHECK(!whole);
}

TEST(facts_of_gpus)
{
    static const char *const events[] = {
        EVENT("X", "\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce\","
                   "\"ts\":1,\"dur\":1,\"args\":{\"correlation\":8,"
                   "\"dtype\":\"Half\",\"In msg nelems\":3}"),
        EVENT("X", "\"cat\":\"gpu_memset\",\"name\":\"Memset (Device)\","
                   "\"ts\":1,\"dur\":1,\"args\":{\"correlation\":9}"),
    };
    for (int facts = 0; facts < 2; facts++) {
        CLEAN(fd_timeline_slices_clear)
        fd_timeline_slices slices = {.facts = facts != 0};
        fd_slice slice;
        bool whole;
        OK(take(&slices, events[0], &slice, &whole));
        EQUAL(slice.gpu.correlation, facts ? 8 : 0);
        fd_timeline_slices_restart(&slices);
        OK(take(&slices, events[1], &slice, &whole));
        EQUAL(slice.gpu.correlation, facts ? 9 : 0);
    }
}

TEST(by_thread)
{
    SLICES(slices, slice, whole);
    static const char *const events[] = {
        EVENT("B", "\"name\":\"out\",\"ts\":1"),
        EVENT("B", "\"name\":\"in\",\"ts\":2"),
        "{\"ph\":\"B\",\"pid\":1,\"tid\":3,\"name\":\"other\",\"ts\":2}",
        EVENT("E", "\"ts\":3"),
        EVENT("E", "\"ts\":5"),
        EVENT("E", "\"ts\":6"),
    };
    uint64_t places[2];
    uint32_t ended = 0;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        OK(take(&slices, events[i], &slice, &whole));
        if (whole) {
            CHECK(ended < 2);
            EQUAL(slice.end, i == 3 ? 3000 : 5000);
            places[ended++] = slice.number;
        }
    }
    EQUAL(ended, 2);
    EQUAL(places[0], 1);
    EQUAL(places[1], 0);
    FIELDS(&slices, (endless, 1), (open_count, 1));
}

TEST(by_id)
{
    SLICES(slices, slice, whole);
    OK(take(&slices,
            EVENT("b", "\"cat\":\"async\",\"id2\":{\"local\":1},"
                       "\"name\":\"gloo:all_reduce\",\"ts\":1"),
            &slice, &whole));
    OK(take(&slices,
            "{\"ph\":\"e\",\"pid\":9,\"cat\":\"async\",\"id2\":"
            "{\"local\":1},\"ts\":2}",
            &slice, &whole));
    CHECK(!whole); /* an id of another process */
    OK(take(&slices,
            EVENT("e", "\"cat\":\"async\",\"id2\":{\"local\":1},"
                       "\"ts\":4"),
            &slice, &whole));
    CHECK(whole && (slice.kind & FD_IS_ASYNC) != 0);
    CHECK((slice.kind & FD_IS_BACKEND) != 0);
    EQUAL(slice.end, 4000);
    EQUAL(slices.endless, 1);
}

/* Keys that are done with make room for others. */
ONCE(many_ids)
{
    SLICES(slices, slice, whole);
    OK(take(&slices, EVENT("B", "\"name\":\"first\",\"ts\":0"), &slice,
            &whole));
    for (uint64_t i = 0; i < (1 << 20) + 10; i++) {
        char id[24];
        snprintf(id, sizeof id, "%llu", (unsigned long long)i);
        fd_timeline_event event = {.phase = 'b',
                                   .id = {id, id + strlen(id)},
                                   .has_start = true,
                                   .start = (int64_t)i};
        OK(fd_timeline_slices_take(&slices, &event, &slice, &whole));
        event.phase = 'e';
        OK(fd_timeline_slices_take(&slices, &event, &slice, &whole));
        CHECK(whole);
    }
    EQUAL(slices.open.count, 2);
    CHECK(slices.last.count < 1 << 20);
    OK(take(&slices, EVENT("E", "\"ts\":9"), &slice, &whole));
    CHECK(whole && slice.number == 0);
}

TEST(times)
{
    SLICES(slices, slice, whole);
    static const char *const events[] = {
        EVENT("X", "\"name\":\"a\",\"ts\":1"),
        EVENT("X", "\"name\":\"a\",\"ts\":NaN,\"dur\":1"),
        EVENT("X", "\"name\":\"a\",\"ts\":5e15,\"dur\":1"),
        EVENT("X", "\"name\":\"a\",\"ts\":1,\"dur\":5e15"),
        EVENT("B", "\"name\":\"a\""),
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        OK(take(&slices, events[i], &slice, &whole));
        CHECK(!whole);
    }
    EQUAL(slices.timeless, 5);
}

/* Collectives that belong together have one key. */
TEST(groups)
{
    CLEAN(fd_timeline_slices_clear) fd_timeline_slices slices = {.free = 0};
    static const char *const args[] = {"{}", "{\"Input Dims\":[[3]]}",
                                       "{\"Input Dims\":[[3]],\"x\":1}",
                                       "{\"Process Group Name\":\"7\"}"};
    uint64_t keys[4];
    for (size_t i = 0; i < 4; i++) {
        char text[200];
        fd_slice slice;
        bool whole;
        snprintf(text, sizeof text,
                 EVENT("X", "\"name\":\"gloo:all_reduce\",\"ts\":1,\"dur\":1,"
                            "\"args\":%s"),
                 args[i]);
        OK(take(&slices, text, &slice, &whole));
        keys[i] = slice.group;
        SAME(fd_text_pool_get(&slices.texts, slice.pg), i == 3 ? "7" : "");
    }
    CHECK(keys[0] != keys[1] && keys[1] == keys[2] && keys[0] != keys[3]);
}

TEST(moved)
{
    fd_slice slice = {.start = 1000000, .end = 2000000};
    const fd_clock_map drifts = {.offset_ns = 7, .drift_ppt = 1000000000};
    fd_slice_move(&slice, &drifts);
    FIELDS(&slice, (start, 1001007), (end, 2002007));
    const fd_clock_map far = {.offset_ns = INT64_MIN};
    fd_slice_move(&slice, &far);
    FIELDS(&slice, (start, -FD_SLICES_TIME), (end, -FD_SLICES_TIME));
}
