#include "models.h"

#include "pipeline/cuts/state_family.h"

#define ONE FIGURES(1, 1, 4, 8)

/* Two parts: a to b and c, and d to e. */
static void
sets_and_states(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    OK(model_of(&model,
                NODE("a", ONE) NODE("b", ONE) NODE("c", ONE) NODE("d", ONE)
                    NODE("e", ONE) "\ta -- b\n\ta -- c\n\td -- e\n",
                NULL));
    OK(fd_layers_make(&layers, &model, NULL));
    fd_state_family family = {.model = &model, .layers = &layers};
    static const struct {
        uint64_t set;
        bool state;
    } cases[] = {{1, true},      {1 | 2, true},         {1 | 2 | 4, true},
                 {2, false},     {1 | 8, false},        {1 | 2 | 8, false},
                 {31, true},     {1 | 2 | 4 | 8, true}, {8, false},
                 {1 | 16, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t work;
        EQUAL(fd_family_has(&family, &work, &cases[i].set), cases[i].state);
    }
}

static void
rows_are_distinct(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    CLEAN(fd_family_clear) fd_state_family family = {.count = 0};
    OK(model_of(&model, NODE("a", ONE) NODE("b", ONE) "\ta -- b\n", NULL));
    OK(fd_layers_make(&layers, &model, NULL));
    family.layers = &layers;
    family.next = fd_calloc(1, sizeof *family.next);
    STATUS(family.next != NULL ? FD_OK : FD_ENOMEM, FD_OK);
    uint32_t index;
    OK(fd_family_begin(&family, &index));
    EQUAL(index, 0);
    fd_family_join(&family, fd_family_row(&family, 0), 1);
    OK(fd_family_put(&family, &index));
    EQUAL(index, 1);
    OK(fd_family_begin(&family, &index));
    EQUAL(index, 0);
    /* Without the first row, the second one is found at its index. */
    family.rows[0] = family.rows[1];
    family.count = 1;
    OK(fd_family_index(&family));
    *family.next = 3;
    OK(fd_family_put(&family, &index));
    EQUAL(index, 0);
    OK(fd_family_begin(&family, &index));
    EQUAL(index, 1);
}

RUN(TEST(sets_and_states), TEST(rows_are_distinct))
