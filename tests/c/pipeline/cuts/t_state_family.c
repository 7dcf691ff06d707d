#include "models.h"

#include "pipeline/cuts/state_family.h"

#define ONE FIGURES(1, 1, 4, 8)

TEST(rows_are_distinct)
{
    MODEL(model, NODE("a", ONE) NODE("b", ONE) "\ta -- b\n");
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    CLEAN(fd_family_clear) fd_state_family family = {.count = 0};
    OK(fd_layers_make(&layers, &model, NULL));
    family.layers = &layers;
    family.next = fd_calloc(1, sizeof *family.next);
    ALLOCATED(family.next != NULL);
    uint32_t index;
    OK(fd_family_begin(&family, &index));
    EQUAL(index, 0);
    fd_family_join(&family, fd_family_row(&family, 0), 1);
    OK(fd_family_put(&family, &index));
    EQUAL(index, 1);
    OK(fd_family_begin(&family, &index));
    EQUAL(index, 0);
}
