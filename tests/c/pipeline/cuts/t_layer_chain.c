#include "models.h"

#include "pipeline/cuts/layer_chain.h"

#define ONE FIGURES(1, 2, 4, 8)

static void
ids_in_the_order_of_their_numbers(void)
{
    CHECK(fd_id_order("node9", "node10") < 0);
    CHECK(fd_id_order("node10", "node9") > 0);
    CHECK(fd_id_order("node07", "node7") < 0);
    CHECK(fd_id_order("a", "b") < 0);
    CHECK(fd_id_order("a", "a1") < 0);
    CHECK(fd_id_order("a10b2", "a10b10") < 0);
    EQUAL(fd_id_order("x3", "x3"), 0);
}

static void
inputs_and_items_are_skipped(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    OK(model_of(&model,
                NODE("n10", ONE)
                    NODE("n2", ONE) "n1 -- Input0 -- " ONE "\n"
                                    "n11 -- __getitem__(1) -- " ONE "\n"
                                    "\tn1 -- n2\n\tn2 -- n10\n\tn10 -- n11\n",
                NULL));
    OK(fd_layers_make(&layers, &model, NULL));
    EQUAL(layers.count, 2);
    EQUAL(layers.nodes[0], 1);
    EQUAL(layers.nodes[1], 0);
    EQUAL(layers.layer_of[2], 2);
    EQUAL(layers.within[0], 1);
    EQUAL(layers.within[1], 3);
    EQUAL(layers.parents[1], 1);
    EQUAL(layers.children[0], 2);
    EQUAL(layers.leaving[1], 0);
}

static void
outputs_with_several_readers(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    OK(model_of(&model,
                NODE("a", ONE) NODE("b", ONE) NODE("c", ONE)
                    NODE("d", ONE) "\ta -- b\n\ta -- c\n\tb -- d\n\tc -- d\n",
                NULL));
    OK(fd_layers_make(&layers, &model, NULL));
    EQUAL(layers.leaving[1], 1);
    EQUAL(layers.leaving[3], 0);
}

static void
nothing_is_left(void)
{
    MODEL(model, "a -- Input -- " ONE "\n");
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    fd_error error = {""};
    STATUS(fd_layers_make(&layers, &model, &error), FD_EINVAL);
    SAME(error.text, "the graph has no layer");
}

static void
by_time_then_index(void)
{
    const double times[] = {3, 1, 2, 1, 0.5};
    const uint32_t expected[] = {4, 1, 3, 2, 0};
    uint32_t order[5];
    OK(fd_time_order(order, times, 5));
    for (uint32_t i = 0; i < 5; i++) {
        EQUAL(order[i], expected[i]);
    }
}

RUN(TEST(ids_in_the_order_of_their_numbers),
    TEST(inputs_and_items_are_skipped), TEST(outputs_with_several_readers),
    TEST(nothing_is_left), TEST(by_time_then_index))
