#include "check.h"
#include "pictures.h"

#include "profile/diff_side.h"
#include "profile/profile_diff.h"

#include <string.h>

/* Two functions of one key, distinguished by a line in one recording only. */
static void
lines_part_nothing(void)
{
    static const picture_call twins[] = {
        {USER(0, "a.py::<lambda>", 1, 10), .line = 7},
        {USER(0, "a.py::<lambda>", 2, 10), .line = 9},
    };
    PICTURE(p, twins);
    CLEAN(picture_clear) picture q = {.trace = NULL};
    CLEAN(fd_diff_clear) fd_diff diff = {.speed = 1};
    OK(picture_make(&q, twins, 1, false));
    fd_diff_request request = {
        .sides = {{p.trace, FD_ALL_RANKS}, {q.trace, FD_ALL_RANKS}}};
    OK(fd_diff_make(&diff, &request));
    EQUAL(diff.rows.count, 1);
    EQUAL((uint64_t)diff.rows.list[0].side[0].calls, 3);
    EQUAL((uint64_t)diff.rows.list[0].side[1].calls, 1);
    EQUAL(diff.rows.list[0].changes & FD_DIFF_CALLS, FD_DIFF_CALLS);
}

static void
packages_have_no_kind(void)
{
    static const picture_call two[] = {
        {USER(0, "a.py::f", 1, 10)},
        {USER(1, "b.py::g", 2, 30)},
        {OP(2, "aten::mm", 2, 5)},
    };
    PICTURE(p, two);
    CLEAN(fd_diff_clear) fd_diff diff = {.speed = 1};
    fd_diff_request request = {
        .sides = {{p.trace, FD_ALL_RANKS}, {p.trace, FD_ALL_RANKS}},
        .grouping = FD_BY_PACKAGE};
    OK(fd_diff_make(&diff, &request));
    EQUAL(diff.rows.count, 2);
    for (uint32_t i = 0; i < diff.rows.count; i++) {
        const fd_diff_row *row = &diff.rows.list[i];
        bool ours =
            strcmp(fd_text_pool_get(&diff.keys, row->key), "project") == 0;
        EQUAL(row->kind, 0);
        EQUAL(row->changes, 0);
        EQUAL((uint64_t)row->side[1].self, ours ? 40 : 5);
    }
    EQUAL((uint64_t)diff.whole[0], 45);
}

static void
steps_of_all_ranks_or_one(void)
{
    static const picture_call two[] = {
        {USER(0, "a.py::f", 4, 40)},
        {USER(0, "a.py::f", 8, 60), .rank = 1},
    };
    PICTURE(p, two);
    CLEAN(fd_diff_clear) fd_diff diff = {.speed = 1};
    p.trace->ranks.list[0].steps = 4;
    p.trace->ranks.list[1].steps = 2;
    fd_diff_request request = {.sides = {{p.trace, 0}, {p.trace, 1}},
                               .same_speed = true};
    EQUAL(fd_diff_steps(&(fd_diff_side){p.trace, FD_ALL_RANKS}), 6);
    OK(fd_diff_make(&diff, &request));
    EQUAL(diff.steps[0], 4);
    EQUAL((uint64_t)diff.rows.list[0].side[0].self, 10);
    EQUAL((uint64_t)diff.rows.list[0].side[1].self, 30);
    EQUAL((uint64_t)diff.rows.list[0].side[1].calls, 4);
}

RUN(TEST(lines_part_nothing), TEST(packages_have_no_kind),
    TEST(steps_of_all_ranks_or_one))
