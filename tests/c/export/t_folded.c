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
    PICTURE(p, run);
    OK(picture_write(&p, "folded"));
    SAME(p.text.bytes, "main 5\n"
                       "main;a.py:[]:step;aten::mm 20\n"
                       "main;a.py:[]:step;a:b c 9\n");
}

static void
by_calls(void)
{
    PICTURE(p, run);
    p.options.weight = FD_WEIGHT_CALLS;
    OK(picture_write(&p, "folded"));
    SAME(p.text.bytes, "main;a.py:[]:step 2\n"
                       "main;a.py:[]:step;aten::mm 3\n"
                       "main;a.py:[]:step;a:b c 1\n");
}

/* Without GPU time calls are used. Calls without weight are omitted with all
 * below them, and siblings are in the order of the trace. */
static void
weights_and_order(void)
{
    static const picture_call threads[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 5)},
        {USER(1, "a.py::step", 1, 10)},
        {USER(2, "a.py::idle", 0, 0)},
        {OP(2, "aten::mm", 3, 20)},
        {USER(1, "a.py::late", 1, 0)},
        {OP(5, "aten::add", 1, 7)},
        {OTHER(0, FD_NODE_THREAD, "worker", 0, 0)},
    };
    static const char *const lines[] = {
        "main 5\nmain;a.py:[]:late;aten::add 7\nmain;a.py:[]:step 10\n"
        "main;a.py:[]:step;aten::mm 20\n",
        "main;a.py:[]:late 1\nmain;a.py:[]:late;aten::add 1\n"
        "main;a.py:[]:step 1\nmain;a.py:[]:step;aten::mm 3\n",
    };
    static const fd_export_weight weights[] = {FD_WEIGHT_TIME, FD_WEIGHT_GPU};
    for (int i = 0; i < 2; i++) {
        PICTURE(p, threads);
        p.options.weight = weights[i];
        OK(picture_write(&p, "folded"));
        SAME(p.text.bytes, lines[i]);
    }
}

static void
nothing_recorded(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(picture_make(&p, NULL, 0, false));
    OK(picture_write(&p, "folded"));
    SAME(p.text.bytes, "");
}

RUN(TEST(one_line_per_stack), TEST(by_calls), TEST(weights_and_order),
    TEST(nothing_recorded))
