#include "check.h"
#include "pictures.h"

#include <stdio.h>

#define TWENTY "12345678901234567890"
#define TOTAL "\\ntotal 100 ns (100 ns, 10.0 %)"
#define FIGURES \
    TOTAL "\\nself 100 ns (100 ns, 10.0 %)" \
          "\\nself and what is folded into it 100 ns (100 ns, 10.0 %)\"]\n"

/* Every byte. */
static void
small_picture(void)
{
    static const picture_call run[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "train.py::main", 1, 700)},
        {SITE(2, "deepspeed", "deepspeed/runtime/engine.py:Engine:step", 1,
              100)},
        {SITE(2, "megatron", "megatron/model.py:GPT:forward", 2, 100)},
        {TORCH(2, "torch/_x.py::_y", 3, 100)},
    };
    DRAWN(p, run, FD_STYLE_CLASSIC);
    SAME(p.text.bytes,
         "digraph callgraph {\n"
         "graph [bgcolor=gray, ratio=compress, nodesep=0.08]\n"
         "node [shape=plaintext, style=filled, fontsize=16]\n"
         "node [margin=\"0.04,0.03\"]\n"
         "edge [penwidth=2.0]\n"
         "n1 [fillcolor=\"#C0C0C0\", label=\"train.py\\n[]\\nmain\", "
         "tooltip=\"train.py:[]:main\\n1 call"
         "\\ntotal 1.00 \xC2\xB5s (1 000 ns, 100 %)"
         "\\nself 700 ns (700 ns, 70.0 %)"
         "\\nself and what is folded into it 700 ns (700 ns, 70.0 %)\"]\n"
         "n2 [fillcolor=\"#FA8D89\", label=\"deepspeed\\nruntime\\nengine.py"
         "\\n[Engine]\\nstep\", "
         "tooltip=\"deepspeed/runtime/engine.py:[Engine]:step\\n1 call" FIGURES
         "n3 [fillcolor=\"#73FBFD\", label=\"megatron\\nmodel.py\\n[GPT]"
         "\\nforward\", "
         "tooltip=\"megatron/model.py:[GPT]:forward\\n2 calls" FIGURES
         "n4 [fillcolor=\"#C0C0C0\", label=\"torch\\n_x.py\\n[]\\n_y\", "
         "tooltip=\"torch/_x.py:[]:_y\\n3 calls" FIGURES
         "n1 -> n2 [color=\"#3CB44B\", tooltip=\"train.py:[]:main -&gt; "
         "deepspeed/runtime/engine.py:[Engine]:step\\n1 call" TOTAL "\"]\n"
         "n1 -> n3 [color=\"#3CB44B\", tooltip=\"train.py:[]:main -&gt; "
         "megatron/model.py:[GPT]:forward\\n2 calls" TOTAL "\"]\n"
         "n1 -> n4 [color=\"#3CB44B\", tooltip=\"train.py:[]:main -&gt; "
         "torch/_x.py:[]:_y\\n3 calls" TOTAL "\"]\n"
         "}\n");
}

/* By a folder of that name, wherever it lies. */
static void
colours_of_packages(void)
{
    static const picture_call files[] = {
        {USER(0, "megatron/a.py::a", 1, 1)},
        {USER(0, "src/megatron/a.py::b", 1, 1)},
        {USER(0, "src/xmegatron/a.py::c", 1, 1)},
        {USER(0, "megatron_x/a.py::d", 1, 1)},
        {USER(0, "megatron.py::e", 1, 1)},
        {USER(0, "src/megatron.py/deepspeed/a.py::f", 1, 1)},
        {USER(0, "deepspeed/megatron/a.py::g", 1, 1)},
        {USER(0, "x_deepspeed/deepspeed/a.py::h", 1, 1)},
    };
    DRAWN(p, files, FD_STYLE_CLASSIC);
    CHECK(picture_has(&p, "\"#73FBFD\", label=\"megatron\\na.py\\n[]\\na\""));
    CHECK(picture_has(&p, "\"#73FBFD\", label=\"src\\nmegatron\\na.py"));
    CHECK(picture_has(&p, "\"#C0C0C0\", label=\"src\\nxmegatron\\n"));
    CHECK(picture_has(&p, "\"#C0C0C0\", label=\"megatron_x\\n"));
    CHECK(picture_has(&p, "\"#C0C0C0\", label=\"megatron.py\\n"));
    CHECK(picture_has(&p, "\"#FA8D89\", label=\"src\\nmegatron.py\\n"));
    CHECK(picture_has(&p, "\"#73FBFD\", label=\"deepspeed\\nmegatron\\n"));
    CHECK(picture_has(&p, "\"#FA8D89\", label=\"x_deepspeed\\n"));
}

static void
labels(void)
{
    static const picture_call odd[] = {
        {USER(0, "a\"b.py::<lambda>", 1, 1), .line = 3},
        {USER(0, "a\"b.py::<lambda>", 1, 1), .line = 4},
        {USER(0, "c\\d.py::f", 1, 1)},
        {USER(0, TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY "1/x.py::g", 1, 1)},
        {OP(0, "aten::mm", 1, 1)},
        {OTHER(0, FD_NODE_RANGE, "range", 1, 1)},
    };
    DRAWN(p, odd, FD_STYLE_CLASSIC);
    CHECK(picture_has(&p, "label=\"a\\\"b.py\\n[]\\n&lt;lambda&gt;@3\""));
    CHECK(picture_has(&p, "label=\"a\\\"b.py\\n[]\\n&lt;lambda&gt;@4\""));
    CHECK(picture_has(&p, "label=\"c\\\\d.py\\n[]\\nf\""));
    CHECK(picture_has(&p, "label=\"" TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY
                          "\xE2\x80\xA6\\nx.py\\n"));
    CHECK(picture_lacks(&p, "aten") && picture_lacks(&p, "range"));
    p.options.ops = FD_OPS_ALL;
    OK(picture_write(&p, "dot"));
    CHECK(picture_has(&p, "[fillcolor=\"#C0C0C0\", label=\"aten\\nmm\""));
}

/* One of ten for each source. */
static void
colours_of_edges(void)
{
    static const char *const colours[] = {
        "#3CB44B", "#4363D8", "#F58231", "#911EB4", "#008080",
        "#F032E6", "#9A6324", "#000075", "#808000", "#E6194B"};
    static char names[22][16];
    picture_call calls[22];
    for (uint32_t i = 0; i < 22; i++) {
        snprintf(names[i], sizeof names[i], "a.py::f%02u", i);
        calls[i] = (picture_call){USER(i % 2, names[i], 1, 1)};
    }
    DRAWN(p, calls, FD_STYLE_CLASSIC);
    for (uint32_t i = 0; i < 22; i += 2) {
        char edge[64];
        snprintf(edge, sizeof edge, "n%u -> n%u [color=\"%s\"", i + 1, i + 2,
                 colours[i % 10]);
        CHECK(picture_has(&p, edge));
    }
}

RUN(TEST(small_picture), TEST(colours_of_packages), TEST(labels),
    TEST(colours_of_edges))
