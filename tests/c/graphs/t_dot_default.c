#include "check.h"
#include "pictures.h"

#define GRAY "<BR/><FONT POINT-SIZE=\"12\" COLOR=\"#5B6570\">"
#define DARK "<BR/><FONT POINT-SIZE=\"12\" COLOR=\"#20262E\">"
#define DOT " \xC2\xB7 "
#define TEN "1234567890"
#define MORE "\xE2\x80\xA6"

#define HEAD \
    "digraph callgraph {\n" \
    "graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, " \
    "labelloc=b, labeljust=l, ranksep=0.35, nodesep=0.14, style=rounded]\n" \
    "node [shape=box, style=\"rounded,filled\", color=\"#8893A0\", " \
    "fontname=\"Helvetica,Arial,sans-serif\", fontsize=13, " \
    "margin=\"0.07,0.05\"]\n" \
    "edge [color=\"#5F6B7A\", arrowsize=0.7]\n"
#define CLUSTER(number, name, back, line) \
    "subgraph cluster_" number " {\n  label=\"" name "\" tooltip=\"" name \
    "\" bgcolor=\"" back "\" color=\"" line "\" labelloc=t " \
    "fontcolor=\"#5B6570\"\n"

/* Every byte. */
static void
small_picture(void)
{
    static const picture_call run[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "train.py::main", 1, 640)},
        {TORCH(2, "torch/nn/modules/module.py:GPT:_call_impl", 2, 110)},
        {USER(3, "model.py:GPT:forward", 2, 250)},
    };
    DRAWN(p, run, FD_STYLE_DEFAULT);
    SAME(p.text.bytes, HEAD
         "label=<<FONT POINT-SIZE=\"12\" COLOR=\"#444C55\">1 rank, "
         "1.00 \xC2\xB5s in main threads. Colour: time in the "
         "function and what is folded into it. Width of lines: time."
         "<BR ALIGN=\"LEFT\"/>hidden: 1 function of torch"
         "<BR ALIGN=\"LEFT\"/></FONT>>\n" CLUSTER(
             "1", "project", "#FDEFDC",
             "#FDEFDC") "  n1 [fillcolor=\"#FF7D45\", label=<<B>main</B>" GRAY
                        "train.py</FONT>" DARK "100 %" DOT "1 call</FONT>>, "
                        "tooltip=\"train.py:[]:main\\n1 call"
                        "\\ntotal 1.00 \xC2\xB5s (1 000 ns, 100 %)"
                        "\\nself 640 ns (640 ns, 64.0 %)"
                        "\\nself and what is folded into it 750 ns (750 ns, "
                        "75.0 %)\"]\n"
                        "  n2 [fillcolor=\"#FFB494\", "
                        "label=<<B>GPT.forward</B>" GRAY "model.py</FONT>" DARK
                        "25.0 %" DOT "2 calls</FONT>>, "
                        "tooltip=\"model.py:[GPT]:forward\\n2 calls"
                        "\\ntotal 250 ns (250 ns, 25.0 %)\\nself 250 ns (250 "
                        "ns, 25.0 %)"
                        "\\nself and what is folded into it 250 ns (250 ns, "
                        "25.0 %)\"]\n"
                        "}\n"
                        "n1 -> n2 [penwidth=5.00, weight=21, "
                        "tooltip=\"train.py:[]:main "
                        "-&gt; model.py:[GPT]:forward\\n2 calls"
                        "\\ntotal 250 ns (250 ns, 25.0 %)\"]\n"
                        "}\n");
}

static void
titles(void)
{
    static const picture_call odd[] = {
        {USER(0, "/home/me/train.py::<module>", 1, 10)},
        {USER(1, "a.py:A&B:<lambda>", 1, 10), .line = 3},
        {USER(1, "a.py:A&B:<lambda>", 1, 10), .line = 4},
        {USER(1, "a.py::f234567890123456789012345678901234567890ABCDE", 1,
              10)},
        {OTHER(1, FD_NODE_RANGE, "", 1, 10)},
    };
    DRAWN(p, odd, FD_STYLE_DEFAULT);
    CHECK(picture_has(&p, "label=<<B>train.py</B>" DARK));
    CHECK(picture_has(&p, "<B>A&amp;B.&lt;lambda&gt;@3</B>"));
    CHECK(picture_has(&p, "<B>A&amp;B.&lt;lambda&gt;@4</B>"));
    CHECK(picture_has(
        &p, "<B>f234567890123456789012345678901234567890ABCD" MORE "</B>"));
    /* An empty label is invalid in the dot language. */
    CHECK(picture_has(&p, "<B>(no name)</B>" DARK));
}

/* The last parts of a path, as many as fit. */
static void
places(void)
{
    static const picture_call paths[] = {
        {USER(0, "megatron/models/gpt/mod.py::a", 1, 10)},
        {USER(0, "x/megatron/core/models/gpt/model22.py::b", 1, 10)},
        {USER(0, "x/a_name_of_more_than_thirty_four_characters.py::c", 1, 10)},
        {USER(0, "<b>.py::d", 1, 10)},
        {USER(0, "x_megatron/core/models/gpt/model.py::e", 1, 10)},
        {USER(0, "y/" TEN TEN TEN TEN TEN TEN "12345678.py::f", 1, 10)},
    };
    DRAWN(p, paths, FD_STYLE_DEFAULT);
    CHECK(picture_has(&p, GRAY "megatron/models/gpt/mod.py</FONT>"));
    CHECK(picture_has(&p, GRAY MORE "/models/gpt/model22.py</FONT>"));
    CHECK(picture_has(&p, GRAY MORE "a_name_of_more_than_thirty_four_"
                                    "characters.py</FONT>"));
    CHECK(picture_has(&p, GRAY "&lt;b&gt;.py</FONT>"));
    CHECK(picture_has(&p, GRAY MORE "/core/models/gpt/model.py</FONT>"));
    CHECK(picture_has(&p, GRAY MORE TEN TEN TEN TEN TEN "12" MORE "</FONT>"));
}

static void
modules(void)
{
    static const picture_call run[] = {
        {USER(0, "m.py::main", 1, 10)},
        {USER(1, "m.py:Block:forward", 1, 10), .module = "blocks.0"},
        {USER(1, "m.py:Block:forward", 1, 10), .module = "blocks.1"},
        {USER(1, "m.py:Norm:forward", 1, 10), .module = "norm"},
        {USER(1, "m.py:Norm:forward", 1, 10), .module = "last"},
        {USER(1, "m.py:Norm:forward", 1, 10), .module = "first"},
        {USER(1, "m.py:Head:forward", 1, 10), .module = "head"},
    };
    DRAWN(p, run, FD_STYLE_DEFAULT);
    CHECK(picture_has(&p, GRAY "blocks.* \xC3\x97 2</FONT>" DARK));
    CHECK(picture_has(&p, GRAY "3 modules</FONT>" DARK));
    CHECK(picture_lacks(&p, "head"));
}

static void
frames(void)
{
    static const picture_call run[] = {
        {USER(0, "a.py::main", 1, 10)},
        {TORCH(1, "torch/a.py::f", 1, 10)},
        {SITE(1, "we\"b<", "web/a.py::g", 1, 10)},
        {USER(2, "a.py::back", 1, 10)},
    };
    DRAWN(p, run, FD_STYLE_DEFAULT);
    CHECK(picture_has(
        &p, CLUSTER("1", "project", "#FDEFDC", "#FDEFDC") "  n1 [fill"));
    CHECK(picture_has(
        &p, CLUSTER("2", "torch", "#DDF0FE", "#DDF0FE") "  n2 [fill"));
    CHECK(picture_has(&p, "label=\"we\\\"b&lt;\" tooltip=\"we\\\"b&lt;\" "
                          "bgcolor=\"#DDFBFD\" color=\"#DDFBFD\""));
    CHECK(picture_has(
        &p, CLUSTER("4", "project", "#FDEFDC", "#FDEFDC") "  n4 [fill"));
    CHECK(picture_lacks(&p, "style=invis"));
}

/* Width by the root of the share of the largest, and pull. */
static const picture_call weighed[] = {
    {USER(0, "a.py::main", 1, 100)},   {USER(1, "a.py::one", 100, 250)},
    {USER(1, "a.py::two", 25, 1000)},  {TORCH(2, "torch/a.py::f", 1, 0)},
    {TORCH(1, "torch/a.py::f", 1, 0)},
};

static void
lines_by_weight(void)
{
    DRAWN(p, weighed, FD_STYLE_DEFAULT);
    CHECK(picture_has(&p, "n1 -> n2 [penwidth=2.85, weight=11, "));
    CHECK(picture_has(&p, "n1 -> n3 [penwidth=5.00, weight=21, "));
    p.options.weight = FD_WEIGHT_CALLS;
    p.options.min_percent = 0;
    OK(picture_write(&p, "dot"));
    CHECK(picture_has(&p, "n1 -> n2 [penwidth=5.00, weight=21, "));
    CHECK(picture_has(&p, "n1 -> n3 [penwidth=2.85, weight=11, "));
    /* Into another frame its deepest caller pulls. */
    CHECK(picture_has(&p, "n1 -> n4 [penwidth=1.13, weight=1, "));
    CHECK(picture_has(&p, "n3 -> n4 [penwidth=1.13, weight=20, "));
}

static void
without_times(void)
{
    static const picture_call counted[] = {
        {USER(0, "m.py::main", 1, 0)},
        {USER(1, "m.py::step", 4, 0)},
    };
    DRAWN(p, counted, FD_STYLE_DEFAULT);
    CHECK(picture_has(&p, "m.py</FONT>" DARK "4 calls</FONT>>"));
    CHECK(picture_has(&p, "m.py</FONT>" DARK "1 call</FONT>>"));
    CHECK(picture_lacks(&p, "%"));
}

static void
leaves_on_lines(void)
{
    static const picture_call many[] = {
        {USER(0, "a.py::main", 1, 10)}, {USER(1, "a.py::a", 1, 10)},
        {USER(1, "a.py::b", 1, 10)},    {USER(1, "a.py::c", 1, 10)},
        {USER(1, "a.py::d", 1, 10)},    {USER(1, "a.py::e", 1, 10)},
        {USER(1, "a.py::f", 1, 10)},
    };
    DRAWN(p, many, FD_STYLE_DEFAULT);
    CHECK(picture_has(&p, "\"]\n  n2 -> n5 [style=invis, weight=0]\n"));
    CHECK(picture_has(&p, "\"]\n  n4 -> n7 [style=invis, weight=0]\n"));
    CHECK(picture_lacks(&p, "-> n4 [style=invis"));
}

RUN(TEST(small_picture), TEST(titles), TEST(places), TEST(modules),
    TEST(frames), TEST(lines_by_weight), TEST(without_times),
    TEST(leaves_on_lines))
