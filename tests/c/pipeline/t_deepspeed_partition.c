#include "check.h"

#include "pipeline/deepspeed_partition.h"

#include <math.h>

enum { MOST_LAYERS = 64, MOST_STAGES = 32 };

/* Compares the cuts of whole weights. */
#define CUTS(cut, stages, weights, ...) \
    do { \
        const double given[] = weights; \
        const uint32_t expected[] = {__VA_ARGS__}; \
        EQUAL(sizeof expected / sizeof *expected, (stages) + 1); \
        uint32_t got[MOST_STAGES + 1]; \
        OK(cut_weights(cut, given, sizeof given / sizeof *given, stages, \
                       got)); \
        for (uint32_t at = 0; at <= (stages); at++) { \
            EQUAL(got[at], expected[at]); \
        } \
    } while (0)
#define WEIGHTS(...) \
    { \
        __VA_ARGS__ \
    }

static fd_status
cut_weights(fd_cut cut, const double *weights, size_t layers, uint32_t stages,
            uint32_t *cuts)
{
    double sums[MOST_LAYERS + 1] = {0};
    for (size_t i = 0; i < layers; i++) {
        sums[i + 1] = sums[i] + weights[i];
    }
    return fd_partition(cut, sums, (uint32_t)layers, stages, cuts, NULL);
}

#define ALEXNET \
    WEIGHTS(23296, 0, 0, 307392, 0, 0, 663936, 0, 884992, 0, 590080, 0, 0, 0, \
            0, 0, 37752832, 0, 0, 16781312, 0, 40970)

static void
of_equal_cuts_the_latest(void)
{
    CUTS(FD_CUT_BALANCED, 3, WEIGHTS(0, 0, 0, 0, 0, 0), 0, 4, 5, 6);
    CUTS(FD_CUT_BALANCED, 3, WEIGHTS(1, 0, 0, 0, 0, 0, 0), 0, 5, 6, 7);
    CUTS(FD_CUT_BALANCED, 5, WEIGHTS(1, 1, 1, 1, 1, 1, 1, 1), 0, 2, 4, 6, 7,
         8);
    CUTS(FD_CUT_BOTTLENECK, 3, WEIGHTS(0, 0, 0, 0, 0, 0), 0, 4, 5, 6);
}

static void
balanced_need_not_be_the_best_bottleneck(void)
{
    CUTS(FD_CUT_BALANCED, 3, WEIGHTS(14, 11, 20, 7), 0, 1, 2, 4);
    CUTS(FD_CUT_BOTTLENECK, 3, WEIGHTS(14, 11, 20, 7), 0, 2, 3, 4);
}

static void
among_best_bottlenecks_the_most_even(void)
{
    /* Greedy stages up to 9 would leave one with 1. */
    CUTS(FD_CUT_BOTTLENECK, 3, WEIGHTS(9, 4, 4, 1, 4), 0, 1, 3, 5);
    CUTS(FD_CUT_BOTTLENECK, 4, WEIGHTS(1, 1, 1, 1, 100, 1, 1, 1), 0, 2, 4, 5,
         8);
}

static void
uniform_by_number(void)
{
    CUTS(FD_CUT_UNIFORM, 4, ALEXNET, 0, 6, 12, 17, 22);
    CUTS(FD_CUT_UNIFORM, 2, ALEXNET, 0, 11, 22);
    CUTS(FD_CUT_UNIFORM, 1, WEIGHTS(5), 0, 1);
}

static void
empty_stages_are_last(void)
{
    CUTS(FD_CUT_UNIFORM, 4, WEIGHTS(1, 2, 3), 0, 1, 2, 3, 3);
    CUTS(FD_CUT_BALANCED, 4, WEIGHTS(1, 2, 3), 0, 1, 2, 3, 3);
    CUTS(FD_CUT_BOTTLENECK, 3, WEIGHTS(1, 2, 3), 0, 1, 2, 3);
    const double none[] = {0};
    uint32_t cuts[3];
    OK(fd_partition(FD_CUT_BALANCED, none, 0, 2, cuts, NULL));
    EQUAL(cuts[0] + cuts[1] + cuts[2], 0);
}

static void
bad_input_is_one_line(void)
{
    const double falling[] = {0, 2, 1};
    const double endless[] = {0, 2, INFINITY};
    const double odd[] = {0, NAN, 1};
    uint32_t cuts[3];
    fd_error error;
    STATUS(fd_partition(FD_CUT_UNIFORM, falling, 2, 0, cuts, &error),
           FD_EINVAL);
    SAME(error.text, "0 stages: at least one");
    STATUS(fd_partition(FD_CUT_UNIFORM, falling, 2, FD_STAGES_MAX + 1, cuts,
                        &error),
           FD_EINVAL);
    SAME(error.text, "1048577 stages: at most 1048576");
    STATUS(fd_partition(FD_CUT_BALANCED, falling, FD_LAYERS_MAX + 1, 2, cuts,
                        &error),
           FD_EINVAL);
    SAME(error.text, "32769 layers: at most 32768 can be weighed");
    STATUS(fd_partition(FD_CUT_BALANCED, falling, 2, 1, cuts, &error),
           FD_EINVAL);
    SAME(error.text,
         "layer 1: its weight is negative, not a number, or too large");
    STATUS(fd_partition(FD_CUT_BOTTLENECK, endless, 2, 1, cuts, &error),
           FD_EINVAL);
    HAS(error.text, "layer 1");
    STATUS(fd_partition(FD_CUT_BALANCED, odd, 2, 1, cuts, &error), FD_EINVAL);
    HAS(error.text, "layer 0");
}

static void
many_layers(void)
{
    enum { LAYERS = 2000, STAGES = 16 };
    static double sums[LAYERS + 1];
    uint32_t cuts[STAGES + 1];
    for (uint32_t i = 0; i < LAYERS; i++) {
        sums[i + 1] = sums[i] + 1;
    }
    OK(fd_partition(FD_CUT_BALANCED, sums, LAYERS, STAGES, cuts, NULL));
    for (uint32_t k = 0; k <= STAGES; k++) {
        EQUAL(cuts[k], k * (LAYERS / STAGES));
    }
    OK(fd_partition(FD_CUT_BOTTLENECK, sums, LAYERS, STAGES, cuts, NULL));
    EQUAL(cuts[1], LAYERS / STAGES);
}

RUN(TEST(of_equal_cuts_the_latest),
    TEST(balanced_need_not_be_the_best_bottleneck),
    TEST(among_best_bottlenecks_the_most_even), TEST(uniform_by_number),
    TEST(empty_stages_are_last), TEST(bad_input_is_one_line),
    TEST(many_layers))
