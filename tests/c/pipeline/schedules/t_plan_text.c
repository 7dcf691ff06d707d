#include "check.h"
#include "plans.h"

static void
instructions(void)
{
    PLAN(plan, "deepspeed-train", 2, 2);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    const char *got = plan_table(&plan, 1, &text);
    OK(text.status);
    SAME(got, "-|RA0 LM0 F0|B0|SG0 RA1 LM1 F1|B1|SG1 RT RD OPT");
}

static void
chunks(void)
{
    PLAN(plan, "interleaved", 2, 2);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    const char *got = plan_table(&plan, 0, &text);
    OK(text.status);
    SAME(got, "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
}

RUN(TEST(instructions), TEST(chunks))
