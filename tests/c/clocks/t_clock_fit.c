#include "check.h"

#include "clocks/clock_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
maps(void)
{
    const fd_clock_map plain = {.offset_ns = 5};
    const fd_clock_map fast = {1000, -7, 100000000}; /* 100 ppm */
    EQUAL(fd_clock_apply(&plain, INT64_C(1790857026000000001)),
          INT64_C(1790857026000000006));
    EQUAL(fd_clock_apply(&plain, INT64_MAX), INT64_MAX);
    EQUAL(fd_clock_apply(&fast, 1000), 993);
    EQUAL(fd_clock_apply(&fast, 10001000), 10001993);
    EQUAL(fd_clock_apply(&fast, -9999000), -10000007);
    fd_clock_map both = fd_clock_compose(&plain, &fast);
    for (int64_t t = -3000000000; t < 3000000000; t += 777777777) {
        int64_t one = fd_clock_apply(&fast, fd_clock_apply(&plain, t));
        CHECK(llabs(fd_clock_apply(&both, t) - one) <= 1);
    }
}

/* A clock that is 7 s ahead and 50 ppm slow. */
static int64_t
theirs(int64_t own)
{
    return own + INT64_C(7000000000) - own / 20000;
}

static void
pings(void)
{
    fd_clock_ping list[8];
    fd_clock_fit fit;
    for (int i = 0; i < 8; i++) {
        int64_t at = (i < 4 ? 0 : INT64_C(60000000000)) + 100000 * i;
        int64_t there = 10000 + 7000 * (i % 4);
        list[i] = (fd_clock_ping){at, theirs(at + there), at + there + 9000};
    }
    CHECK(fd_clock_fit_pings(list, 8, &fit));
    EQUAL(fit.uncertainty_ns, 9500);
    for (int64_t at = 0; at < INT64_C(60000000000); at += 7777777777) {
        CHECK(llabs(fd_clock_apply(&fit.map, at) - theirs(at)) <= 9501);
    }
    CHECK(llabs(fit.map.drift_ppt + 50000000) < 1000000);
    CHECK(fd_clock_fit_pings(list, 4, &fit));
    EQUAL(fit.map.drift_ppt, 0);
    list[0].received = list[0].sent - 1;
    CHECK(!fd_clock_fit_pings(list, 1, &fit));
    CHECK(!fd_clock_fit_pings(list, 0, &fit));
}

/* Messages in both directions, each with a latency of 30 us or more. */
static void
bounds(void)
{
    fd_clock_bound list[40];
    fd_clock_fit fit;
    const fd_clock_map none = {.offset_ns = 0};
    for (int i = 0; i < 40; i++) {
        int64_t at = INT64_C(1000000000) * i;
        int64_t way = 30000 + 1000 * (i * 7 % 11);
        bool earlier = i % 2 == 0; /* sent, not received */
        list[i] = earlier ? (fd_clock_bound){at, theirs(at + way), true}
                          : (fd_clock_bound){at + way, theirs(at), false};
    }
    OK(fd_clock_fit_bounds(list, 40, &fit));
    CHECK(fit.uncertainty_ns >= 29000 && fit.uncertainty_ns < 36000);
    EQUAL(fd_clock_violations(list, 40, &fit.map), 0);
    EQUAL(fd_clock_violations(list, 40, &none), 20);
    for (int64_t at = 0; at < INT64_C(40000000000); at += 7777777777) {
        CHECK(llabs(fd_clock_apply(&fit.map, at) - theirs(at)) < 10000);
    }
    list[0].other -= 200000;
    OK(fd_clock_fit_bounds(list, 40, &fit));
    CHECK(fd_clock_violations(list, 40, &fit.map) > 0);
    STATUS(fd_clock_fit_bounds(list, 1, &fit), FD_EINVAL);
    STATUS(fd_clock_fit_bounds(list, 0, &fit), FD_EINVAL);
}

static void
lines(void)
{
    const fd_clock_point points[] = {{0, 10}, {1, 12}, {2, 90}, {3, 16},
                                     {4, 18}, {5, 20}, {6, 22}, {7, 24}};
    fd_clock_point copy[8];
    double scratch[8];
    fd_clock_line line = fd_clock_median_line(points, 8, true, scratch);
    CHECK(fabs(line.slope - 2) < 1e-9 && fabs(line.value - 10) < 1e-9);
    CHECK(fd_clock_median_line(points, 8, false, scratch).slope == 0);
    memcpy(copy, points, sizeof copy);
    line = fd_clock_lower_line(copy, 5, true);
    CHECK(fabs(line.slope - 2) < 1e-9 && fabs(line.value - 10) < 1e-9);
    memcpy(copy, points, sizeof copy);
    copy[5].value = -50;
    line = fd_clock_lower_line(copy, 8, false);
    CHECK(line.slope == 0 && line.value == -50);
}

static void
far_numbers(void)
{
    const fd_clock_bound list[] = {{INT64_MIN, INT64_MAX, true},
                                   {INT64_MAX, INT64_MIN, false}};
    const fd_clock_ping ping = {INT64_MIN, INT64_MAX, INT64_MAX};
    fd_clock_fit fit;
    OK(fd_clock_fit_bounds(list, 2, &fit));
    CHECK(fd_clock_fit_pings(&ping, 1, &fit));
    EQUAL(fd_clock_round(1e300), INT64_MAX);
    EQUAL(fd_clock_round(-1e300), INT64_MIN);
}

RUN(TEST(maps), TEST(pings), TEST(bounds), TEST(lines), TEST(far_numbers))
