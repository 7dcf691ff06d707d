#include "check.h"
#include "pictures.h"

#include <math.h>
#include <stdio.h>

#define START "label=<<FONT POINT-SIZE=\"12\" COLOR=\"#444C55\">"
#define TIMED \
    " in main threads. Colour: time in the function " \
    "and what is folded into it. Width of lines: "
#define BREAK "<BR ALIGN=\"LEFT\"/>"
#define END "</FONT>>\n"

/* 10 000 ns. */
static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
    {USER(1, "a.py::main", 1, 9700)},
    {TORCH(2, "torch/a.py::_one", 1, 50)},
    {STDLIB(2, "stdlib/a.py::_one", 1, 50)},
    {STDLIB(2, "stdlib/a.py::_two", 1, 50)},
    {USER(2, "a.py::<genexpr>", 1, 50)},
    {USER(2, "a.py::small", 1, 5)},
    {OP(2, "aten::small", 1, 5)},
    {USER(2, "a.py::joined", 1, 40)},
    {USER(2, "a.py::deleted", 1, 30)},
    {OP(2, "aten::deleted", 1, 20)},
};

static fd_status
legend(picture *p)
{
    fd_status status = picture_graph(p);
    fd_dot_picture dot = picture_begin(p);
    if (status == FD_OK) {
        fd_dot_legend(&dot);
        status = picture_end(p);
    }
    return status;
}

static void
hidden_by_reason(void)
{
    static const char *const hide[] = {"*deleted"};
    static const char *const contract[] = {"*joined"};
    PICTURE(p, run);
    p.options.ops = FD_OPS_ALL;
    p.options.hide = (fd_export_globs){hide, 1};
    p.options.contract = (fd_export_globs){contract, 1};
    OK(legend(&p));
    SAME(p.text.bytes,
         START "1 rank, 10.0 \xC2\xB5s" TIMED "time." BREAK
               "hidden: 1 function of torch, 2 of the standard library, "
               "1 comprehensions and wrappers, 2 under 0.1 %, "
               "1 joined (--merge-into-caller), 2 deleted (--hide)" BREAK END);
    p.options.weight = FD_WEIGHT_CALLS;
    p.options.hide.count = 0;
    p.options.contract.count = 0;
    p.options.min_percent = 0.5;
    OK(legend(&p));
    SAME(p.text.bytes,
         START "1 rank, 10.0 \xC2\xB5s" TIMED "calls." BREAK
               "hidden: 1 function of torch, 2 of the standard library, "
               "1 comprehensions and wrappers, 5 under 0.5 %" BREAK END);
}

static void
nothing_hidden(void)
{
    PICTURE(p, run);
    p.options.all = true;
    OK(legend(&p));
    SAME(p.text.bytes, START "1 rank, 10.0 \xC2\xB5s" TIMED "time." END);
}

static void
ranks(void)
{
    static const picture_call two[] = {
        {USER(0, "a.py::main", 1, 10)},
        {TORCH(1, "torch/a.py::_one", 1, 50)},
        {TORCH(1, "torch/a.py::_two", 1, 50)},
        {USER(0, "a.py::main", 1, 30), .rank = 1},
    };
    PICTURE(p, two);
    p.trace->ranks.list[1].rank = 7;
    OK(legend(&p));
    SAME(p.text.bytes, START "2 ranks, 140 ns" TIMED "time." BREAK
                             "hidden: 2 functions of torch" BREAK END);
    p.options.rank = 0;
    OK(legend(&p));
    CHECK(picture_has(&p, ">rank 0, 110 ns in"));
    p.options.rank = 1;
    OK(legend(&p));
    SAME(p.text.bytes, START "rank 7, 30 ns" TIMED "time." END);
}

static void
without_times(void)
{
    static const picture_call counted[] = {{USER(0, "a.py::main", 1, 0)}};
    PICTURE(p, counted);
    OK(legend(&p));
    SAME(p.text.bytes, START "1 rank Width of lines: calls." END);
}

enum { CROWD = 100 };

/* The threshold that was used, rounded up so that it holds for all. */
static void
the_threshold_that_was_used(void)
{
    static char names[CROWD][16];
    picture_call calls[CROWD + 1] = {{USER(0, "a.py::main", 1, 1)}};
    for (uint32_t i = 0; i < CROWD; i++) {
        snprintf(names[i], sizeof names[i], "a.py::f%u", i);
        calls[1 + i] = (picture_call){USER(1, names[i], 1, 100 + i)};
    }
    PICTURE(p, calls);
    OK(legend(&p));
    /* The largest of them takes 140 of 14 951 ns: 0.936 %. */
    EQUAL(p.graph.selection.small, 140);
    EQUAL(p.graph.whole, 14951);
    CHECK(picture_has(&p, "hidden: 41 under 1 %"));
}

static void
shares(void)
{
    fd_graph graph = {.whole = 200};
    fd_dot_picture dot = {.graph = &graph};
    CHECK(fabs(fd_dot_share(&dot, 50) - 0.25) < 1e-12);
    CHECK(fabs(fd_dot_share(&dot, 500) - 1) < 1e-12);
    graph.whole = 0;
    CHECK(fabs(fd_dot_share(&dot, 500)) < 1e-12);
}

RUN(TEST(hidden_by_reason), TEST(nothing_hidden), TEST(ranks),
    TEST(without_times), TEST(the_threshold_that_was_used), TEST(shares))
