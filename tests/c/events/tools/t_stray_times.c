#include "check.h"

#include "events/tools/stray_times.h"

#define SECONDS INT64_C(1000000000)

/* Forty slices of 1 ms from second 10000 on, and up to two others. */
static void
strays(void)
{
    static const struct {
        int64_t other[2]; /* starts in seconds; 0: none */
        uint32_t early;
        uint32_t late;
    } cases[] = {
        {{0, 0}, 0, 0},        {{1, 0}, 1, 0},     {{6400, 6401}, 1, 0},
        {{99999, 0}, 0, 1},    {{1, 99999}, 1, 1}, {{9990, 0}, 1, 0},
        {{9999, 10001}, 0, 0}, {{10005, 0}, 0, 1}, {{10000, 10000}, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_stray_times times = {.count = 0};
        uint32_t early;
        uint32_t late;
        for (int64_t k = 0; k < 40; k++) {
            int64_t start = 10000 * SECONDS + k * 1000000;
            fd_stray_times_add(&times, start, start + 1000000,
                               (fd_event_place){0, 0});
        }
        for (size_t k = 0; k < 2 && cases[i].other[k] != 0; k++) {
            int64_t start = cases[i].other[k] * SECONDS;
            fd_stray_times_add(&times, start, start, (fd_event_place){8, 9});
        }
        bool any = fd_stray_times_find(&times, &early, &late);
        EQUAL(early, cases[i].early);
        EQUAL(late, cases[i].late);
        EQUAL(any, early + late > 0);
        CHECK(early == 0 || times.list[0].first[0].byte == 8);
        CHECK(late == 0 || times.list[times.used - 1].first[0].byte == 8);
    }
}

/* A few events decide nothing, and neither does a second half. */
static void
no_strays(void)
{
    fd_stray_times times = {.count = 0};
    uint32_t early;
    uint32_t late;
    CHECK(!fd_stray_times_find(&times, &early, &late));
    for (int64_t i = 0; i < 100; i++) {
        int64_t start = i < 20 ? i : 5000 * SECONDS + i;
        fd_stray_times_add(&times, start, start, (fd_event_place){0, 0});
        CHECK(!fd_stray_times_find(&times, &early, &late)
              || (early == 0 && late <= 20));
    }
    CHECK(!fd_stray_times_find(&times, &early, &late));
}

/* More pauses than clusters, and the two ends of time. */
static void
many_clusters(void)
{
    fd_stray_times times = {.count = 0};
    uint32_t early;
    uint32_t late;
    for (int64_t i = 0; i < 1000; i++) {
        int64_t start = (i * 7919 % 1000) * 5 * SECONDS;
        fd_stray_times_add(&times, start, start + 1, (fd_event_place){0, 0});
    }
    CHECK(!fd_stray_times_find(&times, &early, &late));
    CHECK(times.used <= FD_TIME_CLUSTERS);
    EQUAL(times.list[0].from, 0);
    EQUAL(times.list[times.used - 1].to, 4995 * SECONDS + 1);
    fd_stray_times_add(&times, INT64_MIN, INT64_MIN, (fd_event_place){0, 0});
    fd_stray_times_add(&times, INT64_MAX, INT64_MAX, (fd_event_place){0, 0});
    CHECK(fd_stray_times_find(&times, &early, &late));
    EQUAL(early, 1);
    EQUAL(late, 1);
}

RUN(TEST(many_clusters), TEST(strays), TEST(no_strays))
