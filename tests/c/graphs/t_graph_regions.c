#include "check.h"
#include "pictures.h"

#include "graphs/graph_regions.h"

#include <stdio.h>

static uint32_t
region_of(const picture *p, const char *key)
{
    return picture_box(p, key)->region;
}

/* train -> engine -> model -> engine's helper; and train -> logging. */
static const picture_call run[] = {
    {USER(0, "train.py::main", 1, 10)},
    {USER(1, "train.py::log", 1, 10)},
    {SITE(1, "engine", "engine/a.py::step", 1, 10)},
    {SITE(2, "engine", "engine/a.py::inner", 1, 10)},
    {USER(2, "model.py::forward", 1, 10)},
    {SITE(3, "engine", "engine/b.py::helper", 1, 10)},
    {SITE(3, "engine", "engine/b.py::other", 1, 10)},
    {USER(4, "model.py::hook", 1, 10)},
};

static void
packages_are_left_and_entered(void)
{
    GRAPHED(p, run);
    EQUAL(p.graph.regions, 5);
    uint32_t train = region_of(&p, "train.py:[]:main");
    uint32_t engine = region_of(&p, "engine/a.py:[]:step");
    uint32_t model = region_of(&p, "model.py:[]:forward");
    uint32_t helper = region_of(&p, "engine/b.py:[]:helper");
    uint32_t hook = region_of(&p, "model.py:[]:hook");
    EQUAL(region_of(&p, "train.py:[]:log"), train);
    EQUAL(region_of(&p, "engine/a.py:[]:inner"), engine);
    EQUAL(region_of(&p, "engine/b.py:[]:other"), helper);
    CHECK(train != model && model != hook && hook != train);
    CHECK(engine != helper);
    EQUAL(train, 1);
}

/* Whether `used` is in one frame with `first`, which calls it directly and
 * through another package. */
static fd_status
together(uint64_t direct, uint64_t through, bool *same)
{
    const picture_call two[] = {
        {USER(0, "a.py::main", 1, 10)},
        {SITE(1, "lib", "lib.py::first", 1, 10)},
        {SITE(2, "other", "other.py::second", 1, 10)},
        {SITE(3, "lib", "zlib.py::used", 1, through)},
        {SITE(2, "lib", "zlib.py::used", 9, direct)},
    };
    CLEAN(picture_clear) picture p = {.trace = NULL};
    fd_status status = PICTURE_OF(&p, two);
    p.options.all = true;
    status = status == FD_OK ? picture_graph(&p) : status;
    if (status == FD_OK) {
        *same = region_of(&p, "zlib.py:[]:used")
             == region_of(&p, "lib.py:[]:first");
    }
    return status;
}

/* By time, and of equals the first. */
static void
the_main_caller_decides(void)
{
    bool same = true;
    OK(together(10, 50, &same));
    CHECK(!same);
    OK(together(50, 10, &same));
    CHECK(same);
    OK(together(10, 10, &same));
    CHECK(same);
    OK(together(0, 0, &same));
    CHECK(same);
}

static void
recursion_has_no_end_of_regions(void)
{
    static const picture_call round[] = {
        {USER(0, "a.py::f", 1, 10)},
        {SITE(1, "lib", "lib.py::g", 1, 10)},
        {USER(2, "a.py::f", 1, 90)},
        {USER(3, "a.py::f", 1, 90)},
    };
    GRAPHED(p, round);
    EQUAL(p.graph.regions, 2);
    EQUAL(picture_box(&p, "a.py:[]:f")->depth, 0);
    EQUAL(picture_box(&p, "lib.py:[]:g")->depth, 1);
    EQUAL(picture_edge(&p, "a.py:[]:f", "a.py:[]:f").calls, 1);
    EQUAL(picture_edge(&p, "lib.py:[]:g", "a.py:[]:f").calls, 1);
}

static void
depth_is_the_longest_path(void)
{
    static const picture_call calls[] = {
        {USER(0, "a.py::a", 1, 10)}, {USER(1, "a.py::b", 1, 10)},
        {USER(2, "a.py::c", 1, 10)}, {USER(3, "a.py::d", 1, 10)},
        {USER(1, "a.py::d", 1, 10)},
    };
    GRAPHED(p, calls);
    EQUAL(picture_box(&p, "a.py:[]:a")->depth, 0);
    EQUAL(picture_box(&p, "a.py:[]:c")->depth, 2);
    EQUAL(picture_box(&p, "a.py:[]:d")->depth, 3);
}

enum { LEAVES = 26 };

/* main calls some leaves; the last hangs at the end of a chain of callers. */
static fd_status
leaves(picture *p, uint32_t count, uint32_t chain)
{
    static char names[LEAVES + 8][16];
    picture_call calls[LEAVES + 8] = {{USER(0, "a.py::main", 1, 10)}};
    for (uint32_t i = 0; i < count + chain; i++) {
        uint32_t below = i < count - 1 ? 0 : i - (count - 1);
        snprintf(names[i], sizeof names[i], "a.py::f%02u", i);
        calls[1 + i] = (picture_call){USER(1 + below, names[i], 1, 10)};
    }
    return picture_make(p, calls, 1 + count + chain, false);
}

static uint32_t
stacked(const picture *p)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->graph.boxes.count; i++) {
        found += p->graph.boxes.list[i].above != 0;
    }
    return found;
}

static void
leaves_on_lines(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    CLEAN(picture_clear) picture q = {.trace = NULL};
    OK(leaves(&p, 12, 0)); /* three lines of four */
    OK(picture_graph(&p));
    EQUAL(stacked(&p), 8);
    for (uint32_t i = 0; i < 12; i++) {
        EQUAL(p.graph.boxes.list[1 + i].above, i < 4 ? 0 : 1 + i - 4 + 1);
    }
    EQUAL(p.graph.boxes.list[0].above, 0); /* main calls */
    OK(leaves(&q, 4, 0));                  /* one line */
    OK(picture_graph(&q));
    EQUAL(stacked(&q), 0);
}

static void
leaves_without_callers(void)
{
    static const picture_call roots[] = {
        {USER(0, "a.py::a", 1, 10)}, {USER(0, "a.py::b", 1, 10)},
        {USER(0, "a.py::c", 1, 10)}, {USER(0, "a.py::d", 1, 10)},
        {USER(0, "a.py::e", 1, 10)}, {USER(0, "a.py::f", 1, 10)},
    };
    GRAPHED(p, roots);
    EQUAL(picture_box(&p, "a.py:[]:d")->above, 1);
    EQUAL(picture_box(&p, "a.py:[]:f")->above, 3);
    EQUAL(stacked(&p), 3);
}

/* Shallow leaves come first; the classic style has longer lines. */
static void
leaves_at_many_heights(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(leaves(&p, 12, 4));
    OK(picture_graph(&p));
    EQUAL(stacked(&p), 8);
    const fd_box *deepest = picture_box(&p, "a.py:[]:f15");
    EQUAL(deepest->depth, 5);
    for (uint32_t i = 0; i < p.graph.boxes.count; i++) {
        CHECK(p.graph.boxes.list[i].above
              != (uint32_t)(deepest - p.graph.boxes.list) + 1);
    }
    p.options.style = FD_STYLE_CLASSIC;
    OK(picture_graph(&p));
    EQUAL(stacked(&p), 0);
    CLEAN(picture_clear) picture q = {.trace = NULL};
    OK(leaves(&q, 26, 0));
    q.options.style = FD_STYLE_CLASSIC;
    OK(picture_graph(&q));
    EQUAL(stacked(&q), 17); /* three lines of nine or less */
}

/* Of the deepest caller in another region that comes before. */
static void
depths_of_regions(void)
{
    PICTURE(p, run);
    uint32_t depths[16] = {0};
    OK(picture_graph(&p));
    CHECK(p.graph.regions < 16);
    fd_regions_depths(&p.graph, depths);
    EQUAL(depths[region_of(&p, "train.py:[]:main")], 0);
    EQUAL(depths[region_of(&p, "engine/a.py:[]:step")], 1);
    EQUAL(depths[region_of(&p, "model.py:[]:forward")], 2);
    EQUAL(depths[region_of(&p, "engine/b.py:[]:helper")], 3);
    EQUAL(depths[region_of(&p, "model.py:[]:hook")], 4);
}

RUN(TEST(packages_are_left_and_entered), TEST(the_main_caller_decides),
    TEST(recursion_has_no_end_of_regions), TEST(depth_is_the_longest_path),
    TEST(leaves_on_lines), TEST(leaves_without_callers),
    TEST(leaves_at_many_heights), TEST(depths_of_regions))
