#include "check.h"
#include "pictures.h"

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 5)},
    {USER(1, "a.py:GPT:forward", 2, 10), .line = 7},
    {OP(2, "aten::mm", 3, 20)},
    {OTHER(0, FD_NODE_THREAD, "main", 0, 1), .rank = 1},
};

static void
of_one_rank(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(PICTURE(&p, run));
    p.options.rank = 1;
    OK(picture_write(&p, "speedscope"));
    CHECK(picture_lacks(&p, "rank 0: main"));
    CHECK(picture_has(&p, "rank 1: main"));
}

static void
by_calls(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(PICTURE(&p, run));
    p.options.weight = FD_WEIGHT_CALLS;
    OK(picture_write(&p, "speedscope"));
    CHECK(picture_has(&p, "\"unit\":\"none\",\"startValue\":0,"
                          "\"endValue\":5,"));
}

static void
nothing_recorded(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(picture_make(&p, NULL, 0, false));
    OK(picture_write(&p, "speedscope"));
    CHECK(picture_has(&p, "\"profiles\":[]}\n"));
}

RUN(TEST(of_one_rank), TEST(by_calls), TEST(nothing_recorded))
