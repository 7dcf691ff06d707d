#include "check.h"
#include "plans.h"

static void
training(void)
{
    TABLES("deepspeed-train", 2, 4,
           "LM0 F0|SA0|LM1 F1|RG0 SA1 B0|LM0 F0|RG1 SA0 B1|LM1 F1|RG0 SA1 B0"
           "|-|RG1 B1 RT RD OPT",
           "-|RA0 LM0 F0|B0|SG0 RA1 LM1 F1|B1|SG1 RA0 LM0 F0|B0"
           "|SG0 RA1 LM1 F1|B1|SG1 RT RD OPT");
    TABLES("deepspeed-train", 1, 2, "LM0 F0|B0|LM1 F1|B1 RT RD OPT");
    TABLES("deepspeed-train", 3, 1, "LM0 F0|SA0|-|-|-|RG0 B0 RT RD OPT",
           "-|RA0 F0|SA0|-|RG0 B0|SG0 RT RD OPT",
           "-|-|RA0 LM0 F0|B0|SG0|RT RD OPT");
}

static void
inference(void)
{
    TABLES("deepspeed-inference", 3, 4,
           "LM0 F0|LM1 SA0 F1|LM0 SA1 F0|LM1 SA0 F1|SA1|-",
           "-|RA0 F0|RA1 SA0 F1|RA0 SA1 F0|RA1 SA0 F1|SA1",
           "-|-|LM0 RA0 F0|LM1 RA1 F1|LM0 RA0 F0|LM1 RA1 F1");
    TABLES("deepspeed-inference", 1, 2, "LM0 F0|LM1 F1");
}

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

RUN(TEST(training), TEST(inference), TEST(data_parallel), TEST(steps))
