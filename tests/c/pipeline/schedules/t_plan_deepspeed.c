#include "check.h"
#include "plans.h"

static void
data_parallel(void)
{
    TABLES("deepspeed-dp", 2, 2, "LM0 F0 B0|LM0 F0 B0 RD OPT",
           "LM0 F0 B0|LM0 F0 B0 RD OPT");
}

/* Out of range before the first and after the last. */
static void
steps(void)
{
    fd_train_step step = fd_plan_train_step(2, 0, 1);
    EQUAL(step.micro_batch, -1);
    CHECK(!step.forward);
    step = fd_plan_train_step(4, 3, 1);
    EQUAL(step.micro_batch, -1);
    CHECK(step.forward);
    step = fd_plan_train_step(4, 3, 0);
    EQUAL(step.micro_batch, -2);
    step = fd_plan_train_step(2, 0, 8);
    EQUAL(step.micro_batch, 4);
}

RUN(TEST(data_parallel), TEST(steps))
