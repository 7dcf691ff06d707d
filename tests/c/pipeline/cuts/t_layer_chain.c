#include "models.h"

#include "pipeline/cuts/layer_chain.h"

#include <string.h>

#define ONE FIGURES(1, 2, 4, 8)

TEST(sets_of_a_layer)
{
    MODEL(model, NODE("a", ONE) NODE("b", ONE) "\ta -- b\n\ta -- b\n");
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    OK(fd_layers_make(&layers, &model, NULL));
    FIELDS(&layers, (count, 2), (within[0], 1), (within[1], 3),
           (parents[1], 1), (children[0], 2), (leaving[1], 0));
}

TEST(edges_out_of_order)
{
    static const char *const edges[] = {"\tb -- c\n\ta -- b\n", "\ta -- a\n"};
    for (size_t i = 0; i < 2; i++) {
        char text[80] = NODE("a", ONE) NODE("b", ONE) NODE("c", ONE);
        MODEL(model, strcat(text, edges[i]));
        CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
        fd_error error = {""};
        STATUS(fd_layers_make(&layers, &model, &error), FD_EINVAL);
        SAME(error.text, "the edges are not in order");
    }
}

TEST(outputs_with_several_readers)
{
    MODEL(model, NODE("a", ONE) NODE("b", ONE) NODE("c", ONE) NODE(
                     "d", ONE) "\ta -- b\n\ta -- c\n\tb -- d\n\tc -- d\n");
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    OK(fd_layers_make(&layers, &model, NULL));
    FIELDS(&layers, (leaving[1], 1), (leaving[3], 0));
}

TEST(nothing_is_left)
{
    MODEL(model, "");
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    fd_error error = {""};
    STATUS(fd_layers_make(&layers, &model, &error), FD_EINVAL);
    SAME(error.text, "the graph has no layer");
}

TEST(by_time_then_index)
{
    const double times[] = {3, 1, 2, 1, 0.5};
    const uint32_t expected[] = {4, 1, 3, 2, 0};
    uint32_t order[5];
    OK(fd_time_order(order, times, 5));
    for (uint32_t i = 0; i < 5; i++) {
        EQUAL(order[i], expected[i]);
    }
}
