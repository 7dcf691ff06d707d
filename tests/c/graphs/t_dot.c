#include "check.h"
#include "pictures.h"

#include <stdio.h>

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
    {USER(1, "train.py::main", 1, 1000)},
    {TORCH(2, "torch/module.py:GPT:_call_impl", 2, 100)},
    {USER(3, "model.py:GPT:forward", 2, 1000), .module = "gpt"},
    {OP(4, "aten::mm", 6, 700)},
    {OP(4, "aten::add", 6, 700)},
    {USER(3, "model.py:Block:forward", 4, 1000), .module = "blocks.0"},
    {USER(3, "model.py:Block:forward", 4, 1000), .module = "blocks.1"},
    {SITE(2, "apex", "apex/a.py::scale", 1, 500)},
    {OTHER(0, FD_NODE_THREAD, "autograd:0", 0, 0)},
    {OTHER(1, FD_NODE_AUTOGRAD, "MmBackward0", 6, 4000), .origin = 5},
};

/* In any order of construction of the trace. */
static void
equal_traces_are_equal_bytes(void)
{
    PICTURE(p, run);
    CLEAN(picture_clear) picture q = {.trace = NULL};
    OK(picture_make(&q, run, sizeof run / sizeof *run, true));
    for (int style = 0; style < 2; style++) {
        p.options.style = q.options.style = (fd_export_style)style;
        p.options.ops = q.options.ops = FD_OPS_ALL;
        OK(picture_write(&p, "dot"));
        OK(picture_write(&q, "dot"));
        SAME(p.text.bytes, q.text.bytes);
        CHECK(p.text.size > 1000);
    }
}

enum { LARGE = 250 };

static void
large_pictures_have_limits(void)
{
    static char names[LARGE][16];
    picture_call calls[LARGE];
    for (uint32_t i = 0; i < LARGE; i++) {
        snprintf(names[i], sizeof names[i], "a.py::f%u", i);
        calls[i] = (picture_call){USER(0, names[i], 1, 1)};
    }
    CLEAN(picture_clear) picture p = {.trace = NULL};
    CLEAN(picture_clear) picture q = {.trace = NULL};
    OK(picture_make(&p, calls, LARGE, false));
    OK(picture_make(&q, calls, LARGE - 1, false));
    p.options.all = q.options.all = true;
    for (int style = 0; style < 2; style++) {
        p.options.style = q.options.style = (fd_export_style)style;
        OK(picture_write(&p, "dot"));
        OK(picture_write(&q, "dot"));
        CHECK(
            picture_has(&p, p.options.style == FD_STYLE_CLASSIC
                                ? ", splines=line, nslimit=0.2, nslimit1=0.2, "
                                  "mclimit=0.05, nodesep=0.02]\n"
                                : ", splines=line, nslimit=0.2, nslimit1=0.2, "
                                  "mclimit=0.05]\n"));
        CHECK(picture_lacks(&q, "limit"));
    }
}

static void
nothing_recorded(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(picture_make(&p, NULL, 0, false));
    OK(picture_write(&p, "dot"));
    CHECK(picture_has(&p, ">0 ranks Width of lines: calls.</FONT>>\n}\n"));
    p.options.style = FD_STYLE_CLASSIC;
    OK(picture_write(&p, "dot"));
    CHECK(picture_has(&p, "edge [penwidth=2.0]\n}\n"));
}

RUN(TEST(equal_traces_are_equal_bytes), TEST(large_pictures_have_limits),
    TEST(nothing_recorded))
