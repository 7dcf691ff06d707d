#include "check.h"

#include "clocks/clock_map.h"

TEST(maps)
{
    const fd_clock_map plain = {.offset_ns = 5};
    const fd_clock_map fast = {1000, -7, 100000000}; /* 100 ppm */
    EQUAL(fd_clock_apply(&plain, INT64_C(1790857026000000001)),
          INT64_C(1790857026000000006));
    EQUAL(fd_clock_apply(&plain, INT64_MAX), INT64_MAX);
    EQUAL(fd_clock_apply(&fast, 1000), 993);
    EQUAL(fd_clock_apply(&fast, 10001000), 10001993);
    EQUAL(fd_clock_apply(&fast, -9999000), -10000007);
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

TEST(steps_stay_close_and_keep_the_order)
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

TEST(the_ends_of_time)
{
    const fd_clock_map map = {.offset_ns = INT64_MAX / 2, .drift_ppt = -5000};
    fd_clock_steps steps = fd_clock_steps_begin(&map, STEP, INT64_MIN);
    EQUAL(fd_clock_steps_change(&steps, INT64_MAX), true);
    steps = fd_clock_steps_begin(&map, STEP, INT64_MAX);
    EQUAL(INT64_MAX + steps.offset_ns <= INT64_MAX, true);
    EQUAL(fd_clock_steps_change(&steps, INT64_MAX), false);
}
