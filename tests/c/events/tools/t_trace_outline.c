#include "check.h"
#include "timelines.h"

#include "events/tools/trace_outline.h"

#include <stdio.h>
#include <string.h>

static fd_status
event(fd_timeline_outline *outline, const char *text)
{
    fd_timeline_event each;
    fd_status status = fixture_event(text, &each);
    return status == FD_OK ? fd_timeline_outline_event(
               outline, &each, &(fd_clock_map){.offset_ns = 1000})
                           : status;
}

static fd_status
member(fd_timeline_outline *outline, const char *key, const char *value)
{
    return fd_timeline_outline_member(outline,
                                      (fd_span){key, key + strlen(key)},
                                      (fd_span){value, value + strlen(value)});
}

#define SLICE(pid, cat, name, ts, dur) \
    "{\"ph\":\"X\",\"pid\":" #pid ",\"tid\":1,\"cat\":\"" cat \
    "\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur "}"
#define NAME(pid, name) \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" #pid \
    ",\"args\":{\"name\":\"" name "\"}}"

static void
ranks(void)
{
    CLEAN(fd_timeline_outline_clear) fd_timeline_outline o = {.steps_lost = 0};
    OK(event(&o, SLICE(7, "op", "aten::mm", 5, 1)));
    OK(event(&o, SLICE(1, "op", "aten::mm", 2, 3)));
    OK(event(&o, SLICE(2, "kernel", "ncclDevKernel", 9, 3)));
    OK(event(&o, "{\"ph\":\"i\",\"pid\":1,\"name\":\"12 events found no room "
                 "in the timeline\",\"ts\":99}"));
    OK(event(&o, NAME(1, "rank 3 | a")));
    OK(event(&o, NAME(2, "rank 3 | a")));
    OK(event(&o, NAME(9, "rank 4")));
    OK(event(&o, SLICE(8, "Trace", "PyTorch Profiler", 0, 500)));
    OK(member(&o, "ranks",
              "[{\"rank\":3,\"lost\":2},{\"rank\":0,\"lost\":0},"
              "{\"rank\":77,\"lost\":1}]"));
    OK(member(&o, "ranks", "[1,2"));
    OK(member(&o, "other", "[]"));
    OK(fd_timeline_outline_finish(&o, 5));
    EQUAL(o.ranks.count, 2);
    const fd_timeline_rank *three = &o.ranks.list[0];
    EQUAL(three->rank, 3);
    EQUAL(three->events, 3);
    EQUAL(three->calls_lost, 12);
    EQUAL(three->places_lost, 2);
    EQUAL(three->first, 3000);
    EQUAL(three->last, 13000);
    CHECK((three->kinds & FD_HAS_GPU_COLLECTIVES) != 0);
    EQUAL(o.ranks.list[1].rank, 5);
    CHECK((o.ranks.list[1].kinds & FD_HAS_GPU_COLLECTIVES) == 0);
}

static void
steps(void)
{
    CLEAN(fd_timeline_outline_clear) fd_timeline_outline o = {.steps_lost = 0};
    OK(event(&o, SLICE(1, "user_annotation", "ProfilerStep#2", 30, 15)));
    OK(event(&o, SLICE(1, "user_annotation", "ProfilerStep#1", 10, 20)));
    OK(event(&o, SLICE(1, "user_annotation", "ProfilerStep#3", 40, 10)));
    OK(event(&o, SLICE(1, "user_annotation", "ProfilerStep#3", 45, 10)));
    OK(fd_timeline_outline_finish(&o, 0));
    const fd_timeline_rank *rank = &o.ranks.list[0];
    EQUAL(rank->steps.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        EQUAL(rank->steps.list[i].number, i + 1);
    }
    EQUAL(rank->steps.list[1].end, 41000); /* not into the next */
    EQUAL(rank->steps.list[2].end, 56000);
}

/* Numbers of another file go on, and of two processes that count steps the
 * first says which there are. */
static void
files(void)
{
    CLEAN(fd_timeline_outline_clear) fd_timeline_outline o = {.steps_lost = 0};
    OK(event(&o, SLICE(1, "op", "aten::mm", 2, 3)));
    OK(event(&o, SLICE(2, "step", "step 5", 10, 20)));
    fd_timeline_outline_next(&o);
    OK(event(&o, NAME(2, "rank 1")));
    OK(event(&o, SLICE(2, "user_annotation", "ProfilerStep#7", 10, 30)));
    fd_timeline_outline_next(&o);
    OK(event(&o, SLICE(2, "user_annotation", "ProfilerStep#8", 40, 30)));
    OK(fd_timeline_outline_finish(&o, 0));
    EQUAL(o.ranks.count, 2);
    EQUAL(o.ranks.list[0].events, 3);
    EQUAL(o.ranks.list[0].steps.count, 1);
    EQUAL(o.ranks.list[0].steps.list[0].number, 5);
    EQUAL(o.ranks.list[1].steps.list[0].number, 7);
}

/* Steps on several streams are joined; those of the host remain apart. */
static void
gpu_steps(void)
{
    CLEAN(fd_timeline_outline_clear) fd_timeline_outline o = {.steps_lost = 0};
    OK(event(&o, SLICE(1, "user_annotation", "ProfilerStep#1", 10, 20)));
    OK(event(&o, SLICE(0, "gpu_user_annotation", "ProfilerStep#1", 50, 20)));
    OK(event(&o, SLICE(0, "gpu_user_annotation", "ProfilerStep#1", 55, 30)));
    OK(fd_timeline_outline_finish(&o, 0));
    const fd_timeline_rank *rank = &o.ranks.list[0];
    EQUAL(rank->steps.count, 1);
    EQUAL(rank->steps.list[0].start, 11000);
    EQUAL(rank->gpu_steps.count, 1);
    EQUAL(rank->gpu_steps.list[0].start, 51000);
    EQUAL(rank->gpu_steps.list[0].end, 86000);
}

/* A last step of length 0, and two steps with one number. */
static void
steps_without_an_end(void)
{
    CLEAN(fd_timeline_outline_clear) fd_timeline_outline o = {.steps_lost = 0};
    OK(event(&o, SLICE(1, "user_annotation", "ProfilerStep#1", 10, 20)));
    OK(event(&o, SLICE(1, "user_annotation", "ProfilerStep#1", 30, 0)));
    OK(event(&o, SLICE(1, "user_annotation", "ProfilerStep#2", 40, 0)));
    OK(event(&o, SLICE(1, "cpu_op", "aten::mm", 50, 5)));
    OK(fd_timeline_outline_finish(&o, 0));
    const fd_timeline_rank *rank = &o.ranks.list[0];
    EQUAL(rank->steps.count, 3);
    EQUAL(rank->open_steps, 2);
    EQUAL(rank->steps.list[1].end, 41000);
    EQUAL(rank->steps.list[2].end, 56000);
}

/* No ProfilerStep, and a kernel at time 0. */
static void
ranges_and_a_stray(void)
{
    CLEAN(fd_timeline_outline_clear) fd_timeline_outline o = {.steps_lost = 0};
    for (int again = 0; again < 2; again++) {
        OK(event(&o, SLICE(1, "kernel", "a", -9000000000, 1)));
        for (uint64_t i = 0; i < 8; i++) {
            char text[160];
            snprintf(text, sizeof text,
                     "{\"ph\":\"X\",\"pid\":1,\"cat\":\"user_annotation\","
                     "\"name\":\"batch %d\",\"ts\":1%d0,\"dur\":9}",
                     (int)i + 4, (int)i);
            OK(event(&o, text));
        }
        EQUAL(fd_timeline_outline_again(&o), again == 0);
    }
    OK(fd_timeline_outline_finish(&o, 0));
    const fd_timeline_rank *rank = fd_timeline_outline_rank(&o, 0);
    EQUAL(rank->first, 101000);
    EQUAL(rank->kinds & FD_IS_KERNEL, 0);
    EQUAL(rank->steps.count, 8);
    EQUAL(rank->steps.list[7].number, 11);
    SAME(rank->steps_of_name, "batch");
    CHECK(!rank->steps_end_there);
}

RUN(TEST(ranks), TEST(steps), TEST(files), TEST(gpu_steps),
    TEST(steps_without_an_end), TEST(ranges_and_a_stray))
