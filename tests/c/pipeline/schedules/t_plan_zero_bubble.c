#include "check.h"
#include "plans.h"

static void
handcrafted(void)
{
    TABLES("zb-h1", 3, 4, "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3",
           "F0 F1 I0 F2 I1 W0 F3 I2 W1 I3 W2 W3",
           "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
    TABLES("zb-h1", 3, 1, "F0 I0 W0", "F0 I0 W0", "F0 I0 W0");
}

/* Every stage holds as much as the first. */
static void
in_flight(void)
{
    CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
    OK(plan_of(&plan, "zb-h1", 4, 9));
    for (uint32_t stage = 0; stage < 4; stage++) {
        EQUAL(fd_plan_in_flight(&plan, stage), 4);
    }
}

static void
v(void)
{
    TABLES("zb-v", 2, 4,
           "0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1"
           " 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3",
           "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3"
           " 2I2 2W2 1I2 2I3 1I3 1W2 2W3 1W3");
}

/* The pipeline is filled with micro-batches that do not exist. */
static void
v_of_one(void)
{
    CLEAN(fd_plan_clear) fd_plan plan = {.first = NULL};
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(plan_of(&plan, "zb-v", 3, 1));
    const char *got = plan_table(&plan, 2, &text);
    OK(text.status);
    SAME(got, "2F0 3F0 3I0 3W0 2I0 2W0");
    /* Activations and gradients over the four borders of two stages. */
    EQUAL(plan.jobs.count, 3 * 6 + 2 * 2 * 4);
}

RUN(TEST(handcrafted), TEST(in_flight), TEST(v), TEST(v_of_one))
