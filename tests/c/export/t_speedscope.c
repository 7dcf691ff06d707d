#include "check.h"
#include "pictures.h"

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 5)},
    {USER(1, "a.py:GPT:forward", 2, 10), .line = 7},
    {OP(2, "aten::mm", 3, 20)},
    {OTHER(0, FD_NODE_THREAD, "main", 0, 1), .rank = 1},
};

static void
a_profile_a_thread(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(PICTURE(&p, run));
    OK(picture_write(&p, "speedscope"));
    CHECK(picture_has(&p, "{\"name\":\"GPT.forward\",\"file\":\"a.py\","
                          "\"line\":7}"));
    CHECK(picture_has(&p, "\"name\":\"rank 0: main\",\"unit\":\"nanoseconds\","
                          "\"startValue\":0,\"endValue\":35,"));
    CHECK(picture_has(&p, "\"name\":\"rank 1: main\",\"unit\":\"nanoseconds\","
                          "\"startValue\":0,\"endValue\":1,"));
    CHECK(picture_has(&p, ",\"at\":0},\n{\"type\":\"O\""));
    CHECK(picture_has(&p, ",\"at\":15},\n{\"type\":\"C\""));
    CHECK(picture_has(&p, ",\"at\":35}]}"));
}

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

RUN(TEST(a_profile_a_thread), TEST(of_one_rank), TEST(by_calls),
    TEST(nothing_recorded))
