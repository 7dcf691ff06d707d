#include "check.h"

#include "base/clock.h"

#include <math.h>

static void
sleep_ms(long ms)
{
    struct timespec rest = {0, ms * 1000000};
    nanosleep(&rest, NULL);
}

TEST(ticks_do_not_go_back)
{
    fd_clock_init();
    uint64_t last = fd_clock_ticks();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = fd_clock_ticks();
        CHECK(now >= last);
        last = now;
    }
}

/* The tick of an anchor is between ticks read before and after it, and its
 * three clocks agree with the kernel's. */
TEST(anchors_are_in_time)
{
    fd_clock_init();
    uint64_t before = fd_clock_ticks();
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    fd_anchor anchor = fd_clock_anchor();
    CHECK(before <= anchor.ticks && anchor.ticks <= fd_clock_ticks());
    int64_t off = (int64_t)(anchor.realtime_ns / 1000000000) - real.tv_sec;
    CHECK(off >= 0 && off <= 2);
    CHECK(anchor.boottime_ns >= anchor.monotonic_ns);
}

/* The calibration agrees with a measurement over a longer time. */
TEST(calibration)
{
    fd_clock_init();
    fd_anchor from = fd_clock_anchor();
    double hertz = fd_clock_hertz();
    CHECK(hertz > 1e6 && hertz < 1e11);
    CHECK(fd_clock_is_tsc || fabs(hertz - 1e9) < 1);
    sleep_ms(30);
    fd_anchor to = fd_clock_anchor();
    double slow = fd_clock_rate(&from, &to, 0);
    CHECK(fabs(slow / hertz - 1) < 2e-3);
}

/* The counter of the processor is read by the same instruction whether or not
 * the kernel uses it: it runs at one rate, which its own ticks state. */
TEST(the_counter_runs_evenly)
{
    uint64_t begin[3];
    uint64_t ns[3];
    for (int i = 0; i < 3; i++) {
        ns[i] = fd_clock_ticks_of(false);
        begin[i] = fd_clock_ticks_of(true);
        sleep_ms(20);
    }
    double first = (double)(begin[1] - begin[0]) / (double)(ns[1] - ns[0]);
    double second = (double)(begin[2] - begin[1]) / (double)(ns[2] - ns[1]);
    CHECK(first > 1e-3 && fabs(second / first - 1) < 0.05);
}

TEST(rate_needs_a_distance)
{
    fd_anchor from = {1000, 5000000, 0, 0};
    fd_anchor near = {2000, 5000000 + 1999999, 0, 0};
    fd_anchor far = {6001000, 5000000 + 2000000, 0, 0};
    CHECK(fabs(fd_clock_rate(&from, &near, 7) - 7) < 1e-9);
    CHECK(fabs(fd_clock_rate(&from, &far, 7) - 3e9) < 1);
    CHECK(fabs(fd_clock_rate(&far, &from, 7) - 7) < 1e-9);
}
