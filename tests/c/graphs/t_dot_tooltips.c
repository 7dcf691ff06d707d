#include "check.h"
#include "pictures.h"

#include <string.h>

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
    {USER(1, "train.py::main", 0, 10000)},
    {USER(2, "model.py:GPT:forward", 2, 4000), .resumes = 1500},
    {TORCH(3, "torch/a.py::_x", 1, 1000)},
    {OP(3, "aten::mm", 3, 5000)},
    {OTHER(0, FD_NODE_THREAD, "autograd:0", 0, 0)},
    {OTHER(1, FD_NODE_AUTOGRAD, "MmBackward0", 3, 6000), .origin = 5},
};

static fd_status
box_tooltip(picture *p, const char *key)
{
    fd_dot_picture dot = picture_begin(p);
    fd_dot_box_tooltip(&dot, picture_box(p, key));
    return picture_end(p);
}

static fd_status
edge_tooltip(picture *p, const char *caller, const char *callee)
{
    fd_dot_picture dot = picture_begin(p);
    fd_edge edge = picture_edge(p, caller, callee);
    fd_dot_edge_tooltip(&dot, &edge);
    return picture_end(p);
}

static void
exact_figures(void)
{
    GRAPHED(p, run);
    OK(box_tooltip(&p, "model.py:[GPT]:forward"));
    SAME(p.text.bytes,
         "\"model.py:[GPT]:forward\\n2 calls, 1 500 resumes, "
         "3 operators below"
         "\\ntotal 10.0 \xC2\xB5s (10 000 ns, 50.0 %)"
         "\\nself 4.00 \xC2\xB5s (4 000 ns, 20.0 %)"
         "\\nself and what is folded into it 10.0 \xC2\xB5s (10 000 ns, "
         "50.0 %)"
         "\\nbackward of what it made 6.00 \xC2\xB5s (6 000 ns, 30.0 %)\"");
    OK(box_tooltip(&p, "train.py:[]:main"));
    CHECK(picture_has(&p, "\\nalready running, 3 operators below\\n"));
    OK(edge_tooltip(&p, "train.py:[]:main", "model.py:[GPT]:forward"));
    SAME(p.text.bytes, "\"train.py:[]:main -&gt; model.py:[GPT]:forward\\n2 "
                       "calls, 1 500 resumes"
                       "\\ntotal 10.0 \xC2\xB5s (10 000 ns, 50.0 %)\"");
}

static void
one_of_each(void)
{
    static const picture_call one[] = {
        {USER(0, "a.py::f", 1, 4), .resumes = 1},
        {OP(1, "aten::mm", 1, 4)},
    };
    GRAPHED(p, one);
    OK(box_tooltip(&p, "a.py:[]:f"));
    CHECK(picture_has(&p, "\\n1 call, 1 resume, 1 operator below\\n"));
}

static void
counts_of_calls(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_dot_calls(&to, 0);
    fd_buffer_text(&to, "|");
    fd_dot_calls(&to, 1);
    fd_buffer_text(&to, "|");
    fd_dot_calls(&to, 2000);
    WRITTEN(&to, "already running|1 call|2 000 calls");
}

static void
without_times(void)
{
    static const picture_call counted[] = {
        {USER(0, "m.py::main", 1, 0)},
        {USER(1, "m.py::step", 10, 0)},
    };
    GRAPHED(p, counted);
    OK(box_tooltip(&p, "m.py:[]:step"));
    SAME(p.text.bytes, "\"m.py:[]:step\\n10 calls\"");
    OK(edge_tooltip(&p, "m.py:[]:main", "m.py:[]:step"));
    SAME(p.text.bytes, "\"m.py:[]:main -&gt; m.py:[]:step\\n10 calls\"");
}

static void
odd_names(void)
{
    static char name[1200] = "m.py::";
    static const char start[] = "\"m.py:[]:\xEF\xBC\xBCN\\\"\\n&lt;xxx";
    static const picture_call odd[] = {{USER(0, name, 1, 1)}};
    memset(name + 6, 'x', sizeof name - 7);
    memcpy(name + 6, "\\N\"\n<", 5);
    GRAPHED(p, odd);
    fd_dot_picture dot = picture_begin(&p);
    fd_dot_box_tooltip(&dot, &p.graph.boxes.list[0]);
    OK(picture_end(&p));
    CHECK(strncmp(p.text.bytes, start, strlen(start)) == 0);
    const char *end = strstr(p.text.bytes, "x\xE2\x80\xA6\\n1 call\\n");
    CHECK(end != NULL);
    /* 1 000 characters: five of the key are more bytes than one, by 2, 0, 1,
     * 1 and 3; and a quote before. */
    EQUAL(end + 1 - p.text.bytes, 1 + 1000 + 2 + 0 + 1 + 1 + 3);
}

RUN(TEST(exact_figures), TEST(one_of_each), TEST(counts_of_calls),
    TEST(without_times), TEST(odd_names))
