#include "check.h"

#include "events/stats/stats_table.h"

static void
rows(void)
{
    CLEAN(fd_tally_clear) fd_tally tally = {.buckets = 0};
    fd_tally_key keys[] = {
        {.of = FD_TALLY_JOB, .rank = 1, .stage = 2, .step = 3, .name = 4},
        {.of = FD_TALLY_JOB, .rank = 1, .stage = 2, .step = 4, .name = 4},
        {.of = FD_TALLY_NAME, .cat = 1, .name = 4},
        {.of = FD_TALLY_NAME, .cat = 1, .name = 5},
    };
    for (uint64_t i = 0; i < 40; i++) {
        OK(fd_tally_add(&tally, &keys[i % 4], i));
    }
    EQUAL(tally.rows.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        EQUAL(tally.rows.list[i].figures.count, 10);
        EQUAL(tally.rows.list[i].figures.least, i);
        EQUAL(tally.rows.list[i].key.name, keys[i].name);
    }
    EQUAL(tally.buckets, 40);
}

static void
bounds(void)
{
    CLEAN(fd_tally_clear) fd_tally tally = {.buckets = 0};
    fd_tally_key key = {.of = FD_TALLY_NAME};
    for (uint32_t i = 0; i < FD_TALLY_ROWS + 5; i++) {
        key.name = i;
        OK(fd_tally_add(&tally, &key, i));
    }
    EQUAL(tally.rows.count, FD_TALLY_ROWS);
    EQUAL(tally.left_out, 5);
    EQUAL(tally.widened, 0);
    for (uint64_t value = 1; tally.widened == 0; value += value / 60 + 1) {
        for (uint32_t i = 0; i < FD_TALLY_ROWS && tally.widened == 0; i += 8) {
            key.name = i;
            OK(fd_tally_add(&tally, &key, value));
        }
    }
    CHECK(tally.buckets < FD_TALLY_BUCKETS);
    EQUAL(tally.rows.list[FD_TALLY_ROWS - 1].figures.widened, 1);
}

RUN(TEST(rows), ONCE(bounds))
