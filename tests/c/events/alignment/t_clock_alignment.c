#include "check.h"

#include "events/alignment/clock_alignment.h"

static void
by_the_wall(void)
{
    fd_timeline_input a = {.survey = {.has_base = true, .base_ns = 2000}};
    fd_timeline_input b = {.survey = {.has_base = true, .base_ns = 1000}};
    fd_timeline_input c = {.survey = {.has_first = true, .first_ns = 7}};
    fd_timeline_input *inputs[] = {&a, &b, &c};
    fd_timeline_clock clock;
    OK(fd_timeline_align_all(inputs, 3, FD_ALIGN_WALL, &clock));
    CHECK(clock.has_base && clock.base_ns == 1000);
    CHECK(a.align == FD_ALIGN_WALL && a.clock.offset_ns == 1000);
    CHECK(b.align == FD_ALIGN_WALL && b.clock.offset_ns == 0);
    CHECK(c.align == FD_ALIGN_NONE && c.clock.offset_ns == 0);
}

static void
by_the_start(void)
{
    fd_timeline_input a = {.survey = {.has_base = true, .base_ns = 2000}};
    fd_timeline_input b = {.survey = {.has_first = true, .first_ns = 7}};
    fd_timeline_input *inputs[] = {&a, &b};
    fd_timeline_clock clock;
    OK(fd_timeline_align_all(inputs, 2, FD_ALIGN_START, &clock));
    CHECK(!clock.has_base);
    CHECK(a.align == FD_ALIGN_NONE && a.clock.offset_ns == 0);
    CHECK(b.align == FD_ALIGN_START && b.clock.offset_ns == -7);
}

RUN(TEST(by_the_wall), TEST(by_the_start))
