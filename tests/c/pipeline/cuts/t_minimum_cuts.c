#include "models.h"

#include "pipeline/cuts/minimum_cuts.h"

#define ONE(activation) FIGURES(1, 1, activation, 0)

/* The cut, its bytes as the flow counts them, and the bytes less those of the
 * state. */
static fd_status
cut_of(uint64_t *cut, double *bytes, double *difference, const char *text,
       uint64_t inside, uint64_t outside)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    CLEAN(fd_cut_flow_clear) fd_cut_flow flow = {.nodes = 0};
    fd_status status = model_of(&model, text, NULL);
    if (status == FD_OK) {
        status = fd_layers_make(&layers, &model, NULL);
    }
    if (status == FD_OK) {
        status = fd_cut_flow_make(&flow, &model, &layers);
    }
    if (status == FD_OK) {
        status = fd_cut_flow_find(&flow, &inside, &outside, bytes, cut);
    }
    uint64_t work;
    if (status == FD_OK) {
        *difference =
            *bytes - fd_cut_bytes(&model, &layers, cut, &work, false);
    }
    return status;
}

/* Two branches of two layers, whose middle is narrow in other places. */
static void
branches(void)
{
    const char *text = NODE("a", ONE(100)) NODE("b", ONE(1)) NODE("c", ONE(50))
        NODE("d", ONE(60)) NODE("e", ONE(2))
            NODE("f", ONE(9)) "\ta -- b\n\tb -- c\n\ta -- d\n\td -- e\n"
                              "\tc -- f\n\te -- f\n";
    uint64_t cut = 0;
    double bytes = 0;
    double difference = 1;
    OK(cut_of(&cut, &bytes, &difference, text, 1, 32));
    EQUAL(cut, 1 | 2 | 8 | 16);
    CHECK(bytes == 1 + 2 && difference == 0);
    /* With c inside or d outside, another place. */
    OK(cut_of(&cut, &bytes, &difference, text, 1 | 2 | 4, 32));
    EQUAL(cut, 1 | 2 | 4 | 8 | 16);
    CHECK(bytes == 50 + 2 && difference == 0);
    OK(cut_of(&cut, &bytes, &difference, text, 1, 8 | 16 | 32));
    EQUAL(cut, 1);
    CHECK(bytes == 100);
    /* No layer must be inside, or none outside. */
    OK(cut_of(&cut, &bytes, &difference, text, 0, 32));
    CHECK(bytes == 0 && cut == 0);
    OK(cut_of(&cut, &bytes, &difference, text, 1, 0));
    CHECK(bytes == 1 + 2);
}

/* The output of a layer counts once, however many layers use it. */
static void
one_output(void)
{
    uint64_t cut = 0;
    double bytes = 0;
    double difference = 1;
    OK(cut_of(&cut, &bytes, &difference,
              NODE("a", ONE(10)) NODE("b", ONE(6)) NODE("c", ONE(6))
                  NODE("d", ONE(6)) "\ta -- b\n\ta -- c\n\ta -- d\n",
              1, 2 | 4 | 8));
    CHECK(bytes == 10 && difference == 0);
    EQUAL(cut, 1);
}

RUN(TEST(branches), TEST(one_output))
