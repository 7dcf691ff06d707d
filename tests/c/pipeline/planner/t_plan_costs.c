#include "check.h"

#include "pipeline/planner/plan_costs.h"

#include <math.h>

/* Two states of a chain: 1 and 3 s, 10 and 30 bytes of everything. */
static double times[] = {1, 3};
static double bytes[] = {10, 30};
static double cuts[] = {5, 0};
static double wide[] = {8, 0};
static const fd_states states = {.count = 2,
                                 .times = times,
                                 .activations = bytes,
                                 .parameters = bytes,
                                 .saved = bytes,
                                 .cuts = cuts,
                                 .wide_cuts = wide,
                                 .least_times = times,
                                 .least_parameters = bytes};

static bool
near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

TEST(a_stage)
{
    fd_costs costs = {.levels = 1, .machines = {4}, .bandwidths = {10}};
    fd_block block = {0, 1};
    fd_stage_cost cost =
        fd_stage_costs(&costs, &states, 0, 2, block, 2, false);
    CHECK(near(cost.compute, 1) && near(cost.reduce, 2) && near(cost.in, 0));
    costs.ratio = 2;
    cost = fd_stage_costs(&costs, &states, 0, 2, block, 2, false);
    CHECK(near(cost.in, 0.4) && near(cost.out, 0));
    costs.true_cut = true;
    cost = fd_stage_costs(&costs, &states, 0, 2, block, 2, false);
    CHECK(near(cost.in, 0.25));
}

TEST(machines_below_share_a_reduce)
{
    fd_costs costs = {.levels = 2, .machines = {4, 2}, .bandwidths = {10, 10}};
    fd_block block = {FD_NO_STATE, 1};
    fd_stage_cost cost = fd_stage_costs(&costs, &states, 1, 2, block, 2, true);
    CHECK(near(cost.reduce, 0.75));
    block.first = 0;
    cost = fd_stage_costs(&costs, &states, 1, 2, block, 2, false);
    CHECK(near(cost.reduce, 2));
    costs.true_cut = true;
    cost = fd_stage_costs(&costs, &states, 1, 2, block, 2, false);
    CHECK(near(cost.reduce, 0.5));
}

TEST(lower_bound_of_time)
{
    fd_costs costs = {.levels = 1, .machines = {4}, .bandwidths = {1e9}};
    CHECK(near(fd_least_time(&costs, &states, 2), 0.75 + 22.5e-9));
    costs.bandwidths[0] = 0.001;
    CHECK(near(fd_least_time(&costs, &states, 2), 3));
    costs.bandwidths[0] = 1e9;
    costs.straight = true;
    CHECK(near(fd_least_time(&costs, &states, 2), 3));
}

TEST(figures_out_of_range)
{
    fd_error error = {""};
    fd_costs costs = {.levels = 1, .machines = {4}, .bandwidths = {1}};
    OK(fd_costs_check(&costs, &error));
    costs.ratio = NAN;
    STATUS(fd_costs_check(&costs, &error), FD_EINVAL);
    costs.ratio = 0;
    costs.memory = FD_MEMORY_STASHED;
    STATUS(fd_costs_check(&costs, &error), FD_EINVAL);
    SAME(error.text, "memory of 0 bytes, 0 of optimizer state a byte: finite "
                     "non-negative numbers");
    costs.bandwidths[0] = INFINITY;
    STATUS(fd_costs_check(&costs, &error), FD_EINVAL);
    costs.machines[0] = 0;
    STATUS(fd_costs_check(&costs, &error), FD_EINVAL);
    costs.levels = 9;
    STATUS(fd_costs_check(&costs, &error), FD_EINVAL);
    SAME(error.text, "9 levels of machines: 1 to 8");
}
