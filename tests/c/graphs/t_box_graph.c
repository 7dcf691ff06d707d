#include "check.h"
#include "pictures.h"

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
    {USER(1, "train.py::main", 1, 1000)},
    {TORCH(2, "torch/module.py:GPT:_call_impl", 2, 100)},
    {USER(3, "model.py:GPT:forward", 2, 1000)},
    {TORCH(4, "torch/module.py:Block:_call_impl", 4, 100)},
    {USER(5, "model.py:Block:forward", 4, 1000), .module = "blocks.0"},
    {USER(5, "model.py:Block:forward", 6, 1000), .module = "blocks.1"},
    {OP(6, "aten::linear", 6, 100)},
    {OP(7, "aten::mm", 6, 700)},
    {USER(2, "model.py:Block:forward", 1, 500), .resumes = 3},
    {OTHER(0, FD_NODE_THREAD, "autograd:0", 0, 0)},
    {OTHER(1, FD_NODE_AUTOGRAD, "MmBackward0", 6, 4000)},
    {OP(2, "aten::mm", 12, 2000)},
};

/* Python's folded machinery is between: its callees are its callers'. */
static void
contraction_keeps_sums(void)
{
    GRAPHED(p, run);
    EQUAL(p.graph.boxes.count, 3);
    EQUAL(p.graph.edges.count, 3);
    fd_edge edge =
        picture_edge(&p, "train.py:[]:main", "model.py:[GPT]:forward");
    EQUAL(edge.calls, 2);
    EQUAL(edge.total, 3900);
    edge =
        picture_edge(&p, "model.py:[GPT]:forward", "model.py:[Block]:forward");
    EQUAL(edge.calls, 10);
    EQUAL(edge.total, 2800);
    edge = picture_edge(&p, "train.py:[]:main", "model.py:[Block]:forward");
    CHECK(edge.calls == 1 && edge.resumes == 3);
    EQUAL(edge.total, 500);
    EQUAL(picture_calls(&p, "model.py:[Block]:forward"), 11);
    EQUAL(picture_calls(&p, "torch/module.py:[GPT]:_call_impl"), -1);
}

/* Self times: in a box, in the box above it, or outside of all. */
static void
all_time_is_somewhere(void)
{
    GRAPHED(p, run);
    EQUAL(picture_box(&p, "train.py:[]:main")->own, 1100);
    EQUAL(picture_box(&p, "model.py:[GPT]:forward")->own, 1100);
    EQUAL(picture_box(&p, "model.py:[Block]:forward")->own, 3300);
    EQUAL(p.graph.outside, 6000);
    EQUAL(p.graph.whole, 5500); /* of the main thread alone */
    CHECK(p.graph.timed);
    p.options.ops = FD_OPS_ALL;
    OK(picture_graph(&p));
    EQUAL(p.graph.outside, 0);
    EQUAL(picture_box(&p, "model.py:[Block]:forward")->own, 2500);
    EQUAL(picture_box(&p, "aten::mm")->own, 2700);
    EQUAL(picture_box(&p, "MmBackward0")->own, 4000);
}

static void
deleted_with_their_edges(void)
{
    static const char *const forward[] = {"model.py:[GPT]:forward"};
    PICTURE(p, run);
    p.options.hide = (fd_export_globs){forward, 1};
    OK(picture_graph(&p));
    EQUAL(p.graph.edges.count, 1);
    EQUAL(
        picture_edge(&p, "train.py:[]:main", "model.py:[Block]:forward").calls,
        1);
    EQUAL(picture_box(&p, "train.py:[]:main")->own, 1000 + 100 + 1000 + 100);
    p.options.hide.count = 0;
    p.options.contract = (fd_export_globs){forward, 1};
    OK(picture_graph(&p));
    EQUAL(p.graph.edges.count, 1);
    fd_edge edge =
        picture_edge(&p, "train.py:[]:main", "model.py:[Block]:forward");
    EQUAL(edge.calls, 11);
    EQUAL(edge.total, 3300);
}

static void
operators_that_python_calls(void)
{
    PICTURE(p, run);
    p.options.ops = FD_OPS_ALL;
    OK(picture_graph(&p));
    EQUAL(picture_calls(&p, "aten::mm"), 18);
    EQUAL(picture_edge(&p, "aten::linear", "aten::mm").calls, 6);
    p.options.ops = FD_OPS_TOP;
    OK(picture_graph(&p));
    EQUAL(picture_calls(&p, "aten::mm"), -1);
    EQUAL(picture_calls(&p, "aten::linear"), 6);
    EQUAL(picture_box(&p, "aten::linear")->own, 800);
    EQUAL(picture_box(&p, "MmBackward0")->own, 6000);
    EQUAL(picture_edge(&p, "model.py:[Block]:forward", "aten::linear").total,
          800);
}

/* Python called by an operator is not part of it. */
static void
python_below_operators(void)
{
    static const picture_call hooks[] = {
        {USER(0, "a.py::main", 1, 10)},
        {OP(1, "aten::linear", 1, 10)},
        {OP(2, "aten::mm", 1, 10)},
        {USER(3, "a.py::hook", 1, 10)},
    };
    PICTURE(p, hooks);
    p.options.ops = FD_OPS_TOP;
    OK(picture_graph(&p));
    EQUAL(p.graph.boxes.count, 3);
    EQUAL(picture_edge(&p, "aten::linear", "a.py:[]:hook").total, 10);
    EQUAL(picture_box(&p, "aten::linear")->own, 20);
}

static void
modules_of_a_forward(void)
{
    static const picture_call mixed[] = {
        {USER(0, "m.py::main", 1, 10)},
        {USER(1, "m.py:Norm:forward", 1, 10), .module = "blocks.0"},
        {USER(1, "m.py:Norm:forward", 1, 10), .module = "last"},
        {USER(1, "m.py:Head:forward", 1, 10), .module = "head"},
        {USER(2, "m.py:Head:forward", 1, 10), .module = "head"},
    };
    PICTURE(p, run);
    CLEAN(picture_clear) picture q = {.trace = NULL};
    OK(picture_graph(&p));
    const fd_box *box = picture_box(&p, "model.py:[Block]:forward");
    EQUAL(box->instances, 2);
    SAME(fd_groups_label(&p.graph.modules, box->pattern), "blocks.*");
    EQUAL(picture_box(&p, "train.py:[]:main")->instances, 0);
    OK(PICTURE_OF(&q, mixed));
    OK(picture_graph(&q));
    EQUAL(picture_box(&q, "m.py:[Norm]:forward")->instances, 2);
    EQUAL(picture_box(&q, "m.py:[Norm]:forward")->pattern, 0);
    EQUAL(picture_box(&q, "m.py:[Head]:forward")->instances, 1);
}

/* Counts alone: the same sums of calls. */
static void
without_times(void)
{
    static const picture_call counted[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "m.py::main", 1, 0)},
        {USER(2, "m.py::step", 10, 0), .resumes = 5},
        {TORCH(3, "torch/a.py::_x", 60, 0)},
        {TORCH(3, "torch/a.py::_y", 40, 0)},
    };
    GRAPHED(p, counted);
    CHECK(!p.graph.timed);
    EQUAL(picture_edge(&p, "m.py:[]:main", "m.py:[]:step").total, 115);
    EQUAL(picture_edge(&p, "m.py:[]:main", "m.py:[]:step").calls, 10);
    EQUAL(picture_box(&p, "m.py:[]:step")->own, 115);
    EQUAL(picture_box(&p, "m.py:[]:main")->own, 1);
}

static void
whole_without_a_main_thread(void)
{
    static const picture_call other[] = {
        {OTHER(0, FD_NODE_THREAD, "worker", 0, 30)},
        {USER(1, "m.py::main", 1, 10)},
        {USER(0, "m.py::main", 1, 5)},
    };
    GRAPHED(p, other);
    EQUAL(p.graph.whole, 45);
    EQUAL(p.graph.outside, 30);
}

/* The thread that runs the optimizer, except one of autograd, is the main
 * one. */
static void
whole_of_the_thread_that_optimizes(void)
{
    static const picture_call training[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 900)},
        {OTHER(0, FD_NODE_THREAD, "worker", 0, 30)},
        {USER(1, "m.py::train", 1, 10)},
        {OP(2, "Optimizer.step", 1, 5), .flags = FD_PHASE_OPTIMIZER},
        {OTHER(0, FD_NODE_THREAD, "autograd:0", 0, 0)},
        {OP(1, "Optimizer.step", 1, 70), .flags = FD_PHASE_OPTIMIZER},
    };
    GRAPHED(p, training);
    EQUAL(p.graph.whole, 45);
}

static void
one_rank_of_two(void)
{
    static const picture_call ranks[] = {
        {USER(0, "t.py::both", 1, 10)},
        {USER(1, "t.py::zero", 1, 10)},
        {USER(0, "t.py::both", 4, 50), .rank = 1},
        {USER(1, "t.py::one", 2, 20), .rank = 1},
    };
    GRAPHED(p, ranks);
    EQUAL(picture_calls(&p, "t.py:[]:both"), 5);
    EQUAL(p.graph.whole, 90);
    p.options.rank = 1;
    OK(picture_graph(&p));
    EQUAL(picture_calls(&p, "t.py:[]:both"), 4);
    EQUAL(picture_calls(&p, "t.py:[]:zero"), -1);
    EQUAL(p.graph.whole, 70);
}

/* A function that is running since before the recording has no call. */
static void
present_without_calls(void)
{
    static const picture_call early[] = {
        {USER(0, "t.py::early", 0, 0)},
        {USER(1, "t.py::step", 1, 10)},
        {USER(1, "t.py::part", 0, 5)},
        {USER(1, "t.py::instant", 1, 0)},
        {USER(1, "t.py::generator", 0, 0), .resumes = 1},
        {USER(0, "t.py::never", 0, 0)},
    };
    PICTURE(p, early);
    p.options.all = true;
    OK(picture_graph(&p));
    EQUAL(picture_calls(&p, "t.py:[]:part"), 0);
    EQUAL(picture_calls(&p, "t.py:[]:instant"), 1);
    EQUAL(picture_calls(&p, "t.py:[]:generator"), 0);
    EQUAL(picture_calls(&p, "t.py:[]:early"), 0);
    EQUAL(picture_calls(&p, "t.py:[]:never"), -1);
}

RUN(TEST(contraction_keeps_sums), TEST(all_time_is_somewhere),
    TEST(deleted_with_their_edges), TEST(operators_that_python_calls),
    TEST(python_below_operators), TEST(modules_of_a_forward),
    TEST(without_times), TEST(whole_without_a_main_thread),
    TEST(whole_of_the_thread_that_optimizes), TEST(one_rank_of_two),
    TEST(present_without_calls))
