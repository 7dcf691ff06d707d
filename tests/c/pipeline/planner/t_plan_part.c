#include "check.h"

#include "pipeline/planner/plan_part.h"

#include <math.h>

/* Two states of a chain: 1 and 3 s, a third of them forward, 10 and 30 bytes
 * of everything. */
static double times[] = {1, 3};
static double forward[] = {0.25, 1};
static double bytes[] = {10, 30};
static double cuts[] = {5, 0};
static const fd_states states = {.count = 2,
                                 .times = times,
                                 .forward = forward,
                                 .parameters = bytes,
                                 .saved = bytes,
                                 .cuts = cuts,
                                 .wide_cuts = cuts};

static bool
near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void
machines_share_a_micro_batch(void)
{
    fd_costs costs = {
        .machines = {4}, .bandwidths = {10}, .ratio = 0.5, .optimizer = 2};
    fd_part part = fd_part_of(&costs, &states, (fd_block){0, 1}, 2);
    CHECK(near(part.forward, 0.375) && near(part.backward, 0.625));
    CHECK(near(part.transfer, 0.5) && near(part.reduce, 4));
    CHECK(near(part.saved, 10) && near(part.kept, 80));
    part = fd_part_of(&costs, &states, (fd_block){FD_NO_STATE, 1}, 1);
    CHECK(near(part.transfer, 0) && near(part.reduce, 0));
}

static void
bounds_of_a_part(void)
{
    fd_part part = {
        .forward = 1, .backward = 2, .transfer = 0.5, .reduce = 10};
    fd_line lines[FD_LINES];
    fd_part_lines(lines, &part, 4, false);
    CHECK(near(lines[0].step, 1.5) && near(lines[0].busy, 22.5));
    CHECK(near(lines[1].step, 4) && near(lines[1].busy, 13));
    fd_part_lines(lines, &part, 4, true);
    CHECK(near(lines[0].busy, 22.5));
    CHECK(near(lines[1].step, 3) && near(lines[1].busy, 9));
}

RUN(TEST(machines_share_a_micro_batch), TEST(bounds_of_a_part))
