#include "chains.h"
#include "models.h"

#include "pipeline/planner/planner_level.h"

#include <math.h>

/* clang-format off */
/* Two branches between two joins: a | b c | d | e f | g. */
#define TIME(seconds) FIGURES(seconds##000, 0, 8, 0)
#define BRANCHES \
    NODE("a", TIME(1)) \
    NODE("b", TIME(2)) \
    NODE("c", TIME(3)) \
    NODE("d", TIME(1)) \
    NODE("e", TIME(2)) \
    NODE("f", TIME(2)) \
        NODE("g", TIME(1)) "\ta -- b\n\ta -- c\n\tb -- d\n\tc -- d\n" \
                           "\td -- e\n\td -- f\n\te -- g\n\tf -- g\n"
/* clang-format on */

static void
fill(fd_level *level, fd_arena *arena, const fd_states *states,
     const fd_costs *costs, double cap, uint64_t *looked)
{
    *level = (fd_level){.costs = costs,
                        .states = states,
                        .machines = costs->machines[0],
                        .unit = 1,
                        .cap = cap,
                        .outermost = true,
                        .effort = UINT64_MAX,
                        .looked = looked};
    fd_level_make(level, arena);
    fd_level_fill(level, FD_NO_STATE, states->count - 1);
}

static bool
takes(const fd_level *level, uint32_t state, uint32_t machines, double time)
{
    return fabs(fd_level_value(level, state, machines) - time) < 1e-12;
}

static const fd_costs straight = {
    .levels = 1, .machines = {3}, .bandwidths = {1e9}, .straight = true};

#define EMPTY_LEVEL(states, level, looked) \
    STATES(states, arena, BRANCHES); \
    fd_level level; \
    uint64_t looked = 0

/* a, ab, ac, abc | abcd | abcde, abcdf, abcdef | all: 1, 3, 4, 6, 7, 9, 9, 11,
 * 12 s; three machines have at best ac, bdf and eg. */
TEST(values_up_to_each_state)
{
    EMPTY_LEVEL(states, level, looked);
    fill(&level, &arena, &states, &straight, 100, &looked);
    EQUAL(states.count, 9);
    CHECK(takes(&level, 4, 1, 7));
    CHECK(takes(&level, 4, 2, 4));
    CHECK(takes(&level, 8, 3, 5));
    CHECK(takes(&level, 8, 1, 12));
    EQUAL(level.choices[8 * 3 + 2].cut, 6);
    CHECK(looked > 0);
}

/* After a waist, an earlier cut is closed if a later one is as good: that
 * after a, since all fast plans are equally good. */
TEST(waists_close_cuts)
{
    EMPTY_LEVEL(states, level, looked);
    const bool waists[] = {true,  false, false, true, true,
                           false, false, true,  true};
    for (uint32_t i = 0; i < 9; i++) {
        EQUAL(states.waists[i], waists[i]);
    }
    fill(&level, &arena, &states, &straight, 6, &looked);
    uint64_t all = looked;
    CHECK(takes(&level, 8, 3, 5));
    level.floor = 6;
    looked = 0;
    fd_level_fill(&level, FD_NO_STATE, 8);
    CHECK(fd_level_value(&level, 8, 3) <= 6);
    CHECK(looked < all);
}

/* From one state to another, and no more than the effort. */
TEST(between_two_states)
{
    EMPTY_LEVEL(states, level, looked);
    fill(&level, &arena, &states, &straight, 100, &looked);
    level.outermost = false;
    fd_level_fill(&level, 0, 4);
    CHECK(isinf(fd_level_value(&level, 0, 1)));
    CHECK(takes(&level, 4, 1, 6));
    CHECK(takes(&level, 4, 2, 3));
    CHECK(isinf(fd_level_value(&level, 8, 1)));
    level.effort = looked;
    fd_level_fill(&level, FD_NO_STATE, 8);
    CHECK(looked > level.effort);
    CHECK(isinf(fd_level_value(&level, 8, 3)));
}
