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

/* The pipeline is filled with micro-batches that do not exist. */
static void
v_of_one(void)
{
    PLAN(plan, "zb-v", 3, 1);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    const char *got = plan_table(&plan, 2, &text);
    OK(text.status);
    SAME(got, "2F0 3F0 3I0 3W0 2I0 2W0");
    /* Activations and gradients over the four borders of two stages. */
    EQUAL(plan.jobs.count, 3 * 6 + 2 * 2 * 4);
}

RUN(TEST(handcrafted), TEST(v_of_one))
