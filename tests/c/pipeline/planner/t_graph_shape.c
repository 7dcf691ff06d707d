#include "models.h"

#include "pipeline/planner/graph_shape.h"

#define ONE FIGURES(1, 2, 4, 8)

/* a forks into b c and d, which join in e; then f g. */
#define FORKED \
    NODE("a", ONE) \
    NODE("b", ONE) \
    NODE("c", FIGURES(1, 2, 16, 8)) \
    NODE("d", ONE) \
    NODE("e", ONE) \
    NODE("f", ONE) \
    NODE("g", ONE) \
    "\ta -- b\n\tb -- c\n\ta -- d\n\tc -- e\n\td -- " \
    "e\n\te -- f\n\tf -- g\n"

static void
branches_become_one(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_model_clear) fd_model small = {.about = 0};
    OK(model_of(&model, FORKED, NULL));
    OK(fd_shape_compress(&small, &model));
    EQUAL(small.nodes.count, 6);
    EQUAL(small.edges.count, 6);
    const fd_model_node *branch = &small.nodes.list[1];
    SAME(fd_model_text(&small, branch->id), "compressed_node1");
    SAME(fd_model_text(&small, branch->name), "Branch 1");
    EQUAL(branch->forward, 2);
    EQUAL(branch->activation, 16);
    EQUAL(branch->parameters, 16);
    SAME(fd_model_text(&small, small.nodes.list[2].id), "compressed_node2");
    SAME(fd_model_text(&small, small.nodes.list[2].name), "Layer()");
}

static void
rows_and_branches(void)
{
    CLEAN(fd_model_clear) fd_model forked = {.about = 0};
    CLEAN(fd_model_clear) fd_model crossed = {.about = 0};
    bool result = false;
    OK(model_of(&forked, FORKED, NULL));
    OK(fd_shape_is_series_parallel(&forked, &result));
    CHECK(result);
    OK(model_of(&crossed, FORKED "\tb -- d\n", NULL));
    OK(fd_shape_is_series_parallel(&crossed, &result));
    CHECK(!result);
}

static void
the_same_or_not(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_model_clear) fd_model same = {.about = 0};
    CLEAN(fd_model_clear) fd_model other = {.about = 0};
    bool result = false;
    OK(model_of(&model,
                NODE("a", ONE) NODE("b", ONE)
                    NODE("c", ONE) "\ta -- b\n\ta -- c\n",
                NULL));
    OK(model_of(&same,
                NODE("z", ONE) NODE("y", ONE)
                    NODE("x", ONE) "\tx -- y\n\tx -- z\n",
                NULL));
    OK(model_of(&other,
                NODE("a", ONE) NODE("b", ONE)
                    NODE("c", ONE) "\ta -- c\n\tb -- c\n",
                NULL));
    OK(fd_shape_is_same(&model, &same, &result));
    CHECK(result);
    OK(fd_shape_is_same(&model, &other, &result));
    CHECK(!result);
}

RUN(TEST(branches_become_one), TEST(rows_and_branches), TEST(the_same_or_not))
