#include "models.h"

#include "pipeline/cuts/state_family.h"

#define ONE FIGURES(1, 1, 4, 8)

TEST(rows_are_distinct)
{
    MODEL(model, NODE("a", ONE) NODE("b", ONE) "\ta -- b\n");
    ARENA(arena);
    fd_layers layers;
    ENTER(&arena);
    fd_layers_make(&layers, &arena, &model);
    fd_state_family family = fd_family_make(&arena, &model, &layers);
    EQUAL(fd_family_begin(&family), 0);
    fd_family_join(&family, fd_family_row(&family, 0), 1);
    EQUAL(fd_family_put(&family), 1);
    EQUAL(fd_family_begin(&family), 0);
}
