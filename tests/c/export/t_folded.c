#include "check.h"
#include "pictures.h"

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 5)},
    {USER(1, "a.py::step", 2, 0), .resumes = 7},
    {OP(2, "aten::mm", 3, 20)},
    {OTHER(2, FD_NODE_RANGE, "a;b\nc", 1, 9)},
};

static void
one_line_per_stack(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(PICTURE(&p, run));
    OK(picture_write(&p, "folded"));
    SAME(p.text.bytes, "main 5\n"
                       "main;a.py:[]:step;aten::mm 20\n"
                       "main;a.py:[]:step;a:b c 9\n");
}

static void
by_calls(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(PICTURE(&p, run));
    p.options.weight = FD_WEIGHT_CALLS;
    OK(picture_write(&p, "folded"));
    SAME(p.text.bytes, "main;a.py:[]:step 2\n"
                       "main;a.py:[]:step;aten::mm 3\n"
                       "main;a.py:[]:step;a:b c 1\n");
}

static void
nothing_recorded(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(picture_make(&p, NULL, 0, false));
    OK(picture_write(&p, "folded"));
    SAME(p.text.bytes, "");
}

RUN(TEST(one_line_per_stack), TEST(by_calls), TEST(nothing_recorded))
