#include "models.h"

#include "pipeline/planner/minimum_cuts.h"

#define ONE(activation) FIGURES(1, 1, activation, 0)

static fd_status
cuts_of(fd_minimum_cuts *cuts, fd_model *model, fd_layers *layers,
        const char *text, uint32_t windows)
{
    fd_status status = model_of(model, text, NULL);
    if (status == FD_OK) {
        status = fd_layers_make(layers, model, NULL);
    }
    return status == FD_OK ? fd_minimum_cuts_make(cuts, model, layers, windows)
                           : status;
}

/* Two branches of two layers, whose middle is narrow in other places. */
static void
branches(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    CLEAN(fd_minimum_cuts_clear) fd_minimum_cuts cuts = {.count = 0};
    OK(cuts_of(&cuts, &model, &layers,
               NODE("a", ONE(100)) NODE("b", ONE(1)) NODE("c", ONE(50))
                   NODE("d", ONE(60)) NODE("e", ONE(2)) NODE(
                       "f", ONE(9)) "\ta -- b\n\tb -- c\n\ta -- d\n\td -- e\n"
                                    "\tc -- f\n\te -- f\n",
               4));
    /* The first quarter has no layer inside, the last one none outside. */
    EQUAL(cuts.count, 1);
    EQUAL(cuts.sets[0], 1 | 2 | 8 | 16);
    uint64_t work;
    CHECK(fd_cut_bytes(&model, &layers, cuts.sets, &work, false) == 1 + 2);
}

/* The output of a layer counts once, however many layers use it. */
static void
one_output(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    CLEAN(fd_minimum_cuts_clear) fd_minimum_cuts cuts = {.count = 0};
    OK(cuts_of(&cuts, &model, &layers,
               NODE("a", ONE(10)) NODE("b", ONE(6)) NODE("c", ONE(6))
                   NODE("d", ONE(6)) "\ta -- b\n\ta -- c\n\ta -- d\n",
               8));
    for (uint32_t i = 0; i < cuts.count; i++) {
        uint64_t work;
        double bytes =
            fd_cut_bytes(&model, &layers, &cuts.sets[i], &work, false);
        CHECK(bytes == 10);
        CHECK((cuts.sets[i] & 1) != 0);
    }
    CHECK(cuts.count > 0);
}

RUN(TEST(branches), TEST(one_output))
