#include "models.h"

#include <string.h>

#define ONE FIGURES(1, 2, 4, 8)

static void
neighbours_in_the_order_of_edges(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    OK(model_of(&model,
                NODE("c", ONE) NODE("a", ONE)
                    NODE("b", ONE) "\tb -- c\n\ta -- c\n\ta -- b\n\tb -- c\n",
                NULL));
    EQUAL(model.nodes.count, 3);
    EQUAL(model.edges.count, 4);
    EQUAL(model.in_first[1] - model.in_first[0], 3);
    EQUAL(model.in_list[0], 2);
    EQUAL(model.in_list[1], 1);
    EQUAL(model.in_list[2], 2);
    EQUAL(model.out_first[2] - model.out_first[1], 2);
    EQUAL(model.out_list[model.out_first[1]], 0);
    EQUAL(model.out_list[model.out_first[1] + 1], 2);
}

static void
order_follows_edges_then_the_file(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    OK(model_of(&model,
                NODE("d", ONE) NODE("z", ONE) NODE("a", ONE) NODE("b", ONE)
                    NODE("q", ONE) "\ta -- d\n\tb -- a\n",
                NULL));
    const uint32_t expected[] = {1, 3, 2, 0, 4};
    for (uint32_t i = 0; i < 5; i++) {
        EQUAL(model.order[i], expected[i]);
    }
}

static void
cycle_is_reported(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_model_clear) fd_model self = {.about = 0};
    fd_error error = {""};
    STATUS(model_of(&model,
                    NODE("a", ONE) NODE("b", ONE) NODE("c", ONE) NODE(
                        "d", ONE) "\ta -- b\n\tb -- c\n\tc -- b\n\tc -- d\n",
                    &error),
           FD_EFORMAT);
    CHECK(strcmp(error.text, "g.txt: a cycle: b needs c needs b") == 0
          || strcmp(error.text, "g.txt: a cycle: c needs b needs c") == 0);
    STATUS(model_of(&self, NODE("a", ONE) "\ta -- a\n", &error), FD_EFORMAT);
    SAME(error.text, "g.txt: a cycle: a needs a");
}

static void
an_empty_model(void)
{
    MODEL(model, "");
    EQUAL(model.nodes.count, 0);
}

RUN(TEST(neighbours_in_the_order_of_edges),
    TEST(order_follows_edges_then_the_file), TEST(cycle_is_reported),
    TEST(an_empty_model))
