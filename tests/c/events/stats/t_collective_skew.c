#include "check.h"

#include "events/stats/collective_skew.h"

static fd_status
add(fd_skew *skew, uint64_t key, uint32_t rank, int64_t start, int64_t end)
{
    fd_collective each = {key, start, end, rank, 1, 2};
    return fd_skew_add(skew, &each);
}

/* Two of one key on three ranks, in no order. */
static void
matched(void)
{
    CLEAN(fd_skew_clear) fd_skew skew = {.left_out = 0};
    OK(add(&skew, 7, 2, 1030, 1100));
    OK(add(&skew, 7, 0, 10, 100));
    OK(add(&skew, 7, 1, 30, 101));
    OK(add(&skew, 7, 2, 20, 105));
    OK(add(&skew, 7, 0, 1000, 1090));
    OK(add(&skew, 7, 1, 1001, 1095));
    OK(fd_skew_match(&skew));
    EQUAL(skew.rows.count, 1);
    const fd_skew_row *row = &skew.rows.list[0];
    EQUAL(row->matched, 2);
    EQUAL(row->ranks, 3);
    EQUAL(row->begin.least, 20);
    EQUAL(row->begin.most, 30);
    EQUAL(row->end.least, 5);
    EQUAL(row->end.most, 10);
    EQUAL(row->worst, 30);
    EQUAL(row->worst_rank, 2);
    EQUAL(skew.ranks.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        EQUAL(skew.ranks.list[i].last, 1);
    }
}

/* Collectives that only some ranks have are not matched. */
static void
unmatched(void)
{
    CLEAN(fd_skew_clear) fd_skew skew = {.left_out = 0};
    OK(add(&skew, 7, 0, 10, 20));
    OK(add(&skew, 7, 0, 30, 40));
    OK(add(&skew, 7, 1, 10, 20));
    OK(add(&skew, 8, 1, 10, 20));
    OK(add(&skew, 9, 0, 10, 20));
    OK(add(&skew, 9, 1, 10, 20));
    OK(fd_skew_match(&skew));
    EQUAL(skew.rows.list[0].unmatched, 4);
    EQUAL(skew.rows.list[0].matched, 1);
    EQUAL(skew.ranks.count, 0); /* both at one time: no rank is last */
}

static void
bounded(void)
{
    CLEAN(fd_skew_clear) fd_skew skew = {.left_out = 0};
    for (uint32_t i = 0; i < FD_SKEW_MOST + 3; i++) {
        OK(add(&skew, 1, i % 2, i, i + 1));
    }
    EQUAL(skew.left_out, 3);
}

RUN(TEST(matched), TEST(unmatched), ONCE(bounded))
