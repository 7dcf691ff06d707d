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

/* Bounds that are violated when the own clock is corrected. */
static size_t
violations(const fd_clock_bound *bounds, size_t count, const fd_clock_map *map)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t own = fd_clock_apply(map, bounds[i].own);
        found +=
            bounds[i].earlier ? own > bounds[i].other : own < bounds[i].other;
    }
    return found;
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
    EQUAL(violations(list, 40, &fit.map), 0);
    EQUAL(violations(list, 40, &none), 20);
    for (int64_t at = 0; at < INT64_C(40000000000); at += 7777777777) {
        CHECK(llabs(fd_clock_apply(&fit.map, at) - theirs(at)) < 10000);
    }
    list[0].other -= 200000;
    OK(fd_clock_fit_bounds(list, 40, &fit));
    CHECK(violations(list, 40, &fit.map) > 0);
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

enum { MOMENTS = 200000, STEP = 1000 };

static uint64_t
next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* The number of changes for events from `at` on, at most `gap` apart. Checks
 * that corrected times do not decrease and are not far off. */
static int
changes(const fd_clock_map *map, int64_t at, uint64_t gap)
{
    uint64_t state = 7;
    int count = 0;
    fd_clock_steps steps = fd_clock_steps_begin(map, STEP, at);
    int64_t before = INT64_MIN;
    for (int i = 0; i < MOMENTS; i++) {
        if (at >= steps.next_change) {
            count += fd_clock_steps_change(&steps, at);
        }
        steps.last = at;
        int64_t shown = at + steps.offset_ns;
        int64_t off = fd_clock_apply(map, at) - shown;
        if (shown < before || off > STEP + 1 || off < -STEP - 1) {
            return -1;
        }
        before = shown;
        at += (int64_t)(next_random(&state) % (gap + 1));
    }
    return count;
}

static void
steps_stay_close_and_keep_the_order(void)
{
    static const struct {
        int64_t ppm;
        uint64_t gap;
        int least;
        int most;
    } cases[] = {
        {0, 100000, 0, 0},
        {100, 100000, 900, 1100}, /* 1 ms in 10 s, in steps of 1 us */
        {-100, 100000, 900, 1100},
        {500, 100, 4, 5},
        {-500, 100, 40, 400}, /* down by at most the time between events */
        {-500, 20000000, MOMENTS - MOMENTS / 4, MOMENTS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fd_clock_map map = {.at_ns = 40,
                                  .offset_ns = 12345,
                                  .drift_ppt = cases[i].ppm * 1000000};
        int found = changes(&map, 3000000, cases[i].gap);
        CHECK(found >= cases[i].least && found <= cases[i].most);
    }
}

static void
the_ends_of_time(void)
{
    const fd_clock_map map = {.offset_ns = INT64_MAX / 2, .drift_ppt = -5000};
    fd_clock_steps steps = fd_clock_steps_begin(&map, STEP, INT64_MIN);
    EQUAL(fd_clock_steps_change(&steps, INT64_MAX), true);
    steps = fd_clock_steps_begin(&map, STEP, INT64_MAX);
    EQUAL(INT64_MAX + steps.offset_ns <= INT64_MAX, true);
    EQUAL(fd_clock_steps_change(&steps, INT64_MAX), false);
}

RUN(TEST(maps), TEST(pings), TEST(bounds), TEST(lines), TEST(far_numbers),
    TEST(steps_stay_close_and_keep_the_order), TEST(the_ends_of_time))
