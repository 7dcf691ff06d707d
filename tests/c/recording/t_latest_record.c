#include "check.h"

#include "recording/latest_record.h"

static int a, b;

static void
one_side(void)
{
    fd_latest_record latest = {0};
    for (int i = 0; i < 2; i++) { /* the same address again */
        CHECK(fd_latest_record_begins(&latest, &a, 0));
        CHECK(fd_latest_record_begins(&latest, &b, 0));
        CHECK(fd_latest_record_ends(&latest, &b));
        CHECK(fd_latest_record_ends(&latest, &a));
    }
}

static void
both_sides(void)
{
    fd_latest_record latest = {0};
    CHECK(fd_latest_record_begins(&latest, &a, 0));
    CHECK(!fd_latest_record_begins(&latest, &a, 1));
    CHECK(fd_latest_record_begins(&latest, &b, 1));
    CHECK(fd_latest_record_ends(&latest, &b));
    CHECK(fd_latest_record_ends(&latest, &a));
    CHECK(!fd_latest_record_ends(&latest, &a));
}

static void
the_other_side_at_the_same_address(void)
{
    fd_latest_record latest = {0};
    CHECK(fd_latest_record_begins(&latest, &a, 0));
    CHECK(fd_latest_record_ends(&latest, &a));
    CHECK(fd_latest_record_begins(&latest, &a, 1));
    CHECK(fd_latest_record_ends(&latest, &a));
}

static void
an_open_record_has_both_and_its_child_one(void)
{
    fd_latest_record latest = {0};
    CHECK(fd_latest_record_begins(&latest, &a, 1));
    CHECK(!fd_latest_record_begins(&latest, &a, 0));
    for (int i = 0; i < 3; i++) {
        CHECK(fd_latest_record_begins(&latest, &b, 0));
        CHECK(fd_latest_record_ends(&latest, &b));
    }
    CHECK(fd_latest_record_begins(&latest, &b, 1));
}

RUN(TEST(one_side), TEST(both_sides), TEST(the_other_side_at_the_same_address),
    TEST(an_open_record_has_both_and_its_child_one))
