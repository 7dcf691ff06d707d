#include "check.h"

#include "events/stats/time_intervals.h"

#include <stdlib.h>

static fd_status
fill(fd_intervals *set, const int64_t *pairs, size_t count)
{
    fd_status status = FD_OK;
    for (size_t i = 0; i < count && status == FD_OK; i++) {
        status = fd_intervals_add(set, pairs[2 * i], pairs[2 * i + 1]);
    }
    fd_intervals_settle(set);
    return status;
}

static void
any_order(void)
{
    static const int64_t pairs[] = {50, 60, 10, 20, 15, 25, 55, 58,
                                    60, 61, 5,  5,  9,  8,  30, 31};
    CLEAN(fd_intervals_clear) fd_intervals set = {.sorted = 0};
    OK(fill(&set, pairs, 8));
    EQUAL(set.list.count, 3);
    EQUAL(fd_intervals_within(&set, 0, 100), 15 + 1 + 11);
    EQUAL(fd_intervals_within(&set, 20, 31), 5 + 1);
    EQUAL(fd_intervals_within(&set, 26, 30), 0);
    EQUAL(fd_intervals_within(&set, 52, 54), 2);
    EQUAL(set.closed_ns, 0);
}

/* The same as a bitmap says, whatever comes. */
static void
as_a_bitmap(void)
{
    unsigned char bits[2000] = {0};
    CLEAN(fd_intervals_clear) fd_intervals set = {.sorted = 0};
    srand(1);
    for (int i = 0; i < 20000; i++) {
        int from = rand() % 1900;
        int to = from + rand() % 3;
        if (i % 7 == 0) {
            OK(fd_intervals_add(&set, from, to));
            for (int k = from; k < to; k++) {
                bits[k] = 1;
            }
        }
        if (i % 5000 == 4999) {
            int64_t sum = 0;
            fd_intervals_settle(&set);
            for (int k = 100; k < 1500; k++) {
                sum += bits[k];
            }
            EQUAL(fd_intervals_within(&set, 100, 1500), sum);
        }
    }
}

static void
gaps(void)
{
    static const int64_t pairs[] = {0, 10, 12, 20, 30, 40};
    CLEAN(fd_intervals_clear) fd_intervals set = {.sorted = 0};
    OK(fill(&set, pairs, 3));
    fd_intervals_close(&set, 2);
    EQUAL(set.list.count, 2);
    EQUAL(set.closed_ns, 2);
    EQUAL(fd_intervals_within(&set, 0, 40), 30);
    OK(fd_intervals_add(&set, 42, 50));
    fd_intervals_settle(&set);
    EQUAL(set.list.count, 2);
    EQUAL(set.closed_ns, 4);
}

static void
two_sets(void)
{
    static const int64_t one[] = {0, 10, 20, 30, 40, 50, 60, 70};
    static const int64_t other[] = {2, 4, 6, 7, 9, 22, 25, 26, 40, 50, 69, 99};
    CLEAN(fd_intervals_clear) fd_intervals a = {.sorted = 0};
    CLEAN(fd_intervals_clear) fd_intervals b = {.sorted = 0};
    CLEAN(fd_intervals_clear) fd_intervals rest = {.sorted = 0};
    OK(fill(&a, one, 4));
    OK(fill(&b, other, 6));
    OK(fd_intervals_without(&a, &b, &rest));
    EQUAL(rest.list.count, 6);
    EQUAL(fd_intervals_within(&rest, 0, 100), 2 + 2 + 2 + 3 + 4 + 9);
    OK(fd_intervals_join(&rest, &b));
    EQUAL(fd_intervals_within(&rest, 0, 100), 30 + 10 + 39);
}

RUN(TEST(any_order), TEST(as_a_bitmap), TEST(gaps), TEST(two_sets))
