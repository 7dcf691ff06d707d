#include "check.h"

#include "pipeline/planner/time_order.h"

static void
by_time_then_index(void)
{
    const double times[] = {3, 1, 2, 1, 0.5};
    const uint32_t wanted[] = {4, 1, 3, 2, 0};
    uint32_t order[5];
    OK(fd_time_order(order, times, 5));
    for (uint32_t i = 0; i < 5; i++) {
        EQUAL(order[i], wanted[i]);
    }
}

static void
nothing_to_order(void)
{
    OK(fd_time_order(NULL, NULL, 0));
}

RUN(TEST(by_time_then_index), TEST(nothing_to_order))
