#include "models.h"

#include "pipeline/cuts/layer_chain.h"

#define ONE FIGURES(1, 2, 4, 8)

TEST(sets_of_a_layer)
{
    MODEL(model, NODE("a", ONE) NODE("b", ONE) "\ta -- b\n\ta -- b\n");
    ARENA(arena);
    fd_layers layers;
    ENTER(&arena);
    fd_layers_make(&layers, &arena, &model);
    FIELDS(&layers, (count, 2), (within[0], 1), (within[1], 3),
           (parents[1], 1), (children[0], 2), (leaving[1], 0));
}

TEST(outputs_with_several_readers)
{
    MODEL(model, NODE("a", ONE) NODE("b", ONE) NODE("c", ONE) NODE(
                     "d", ONE) "\ta -- b\n\ta -- c\n\tb -- d\n\tc -- d\n");
    ARENA(arena);
    fd_layers layers;
    ENTER(&arena);
    fd_layers_make(&layers, &arena, &model);
    FIELDS(&layers, (leaving[1], 1), (leaving[3], 0));
}
