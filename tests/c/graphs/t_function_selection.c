#include "check.h"
#include "pictures.h"

#include <stdio.h>

/* User code calls torch; 10 000 ns in total. */
static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
    {USER(1, "train.py::main", 1, 1000)},
    {TORCH(2, "torch/optim/adam.py:Adam:step", 1, 1000)},
    {TORCH(3, "torch/optim/adam.py::adam", 1, 1000)},
    {TORCH(2, "torch/nn/modules/module.py:GPT:_call_impl", 1, 1000)},
    {SITE(3, "megatron", "megatron/model.py:GPT:forward", 1, 1000)},
    {TORCH(4, "torch/nn/functional.py::gelu", 1, 1000)},
    {TORCH(4, "torch/_dynamo/guards.py::check", 1, 500)},
    {TORCH(4, "torch/utils.py::wrapper", 1, 500)},
    {TORCH(4, "torch/data.py:Loader:__next__", 1, 500)},
    {STDLIB(4, "stdlib/json/__init__.py::dumps", 1, 500)},
    {STDLIB(5, "stdlib/json/encoder.py:JSONEncoder:encode", 1, 500)},
    {OP(4, "aten::mm", 3, 1000)},
    {USER(2, "train.py::<listcomp>", 1, 250)},
    {USER(2, "train.py::<lambda>", 1, 250)},
    {USER(1, "train.py::tiny", 1, 5)},
};

#define IS(key, visibility) EQUAL(picture_visibility(&p, key), visibility)

static void
selected_functions_are_drawn(void)
{
    static const char *const drawn[] = {"train.py:[]:main",
                                        "torch/optim/adam.py:[Adam]:step",
                                        "megatron/model.py:[GPT]:forward",
                                        "torch/nn/functional.py:[]:gelu",
                                        "torch/data.py:[Loader]:__next__",
                                        "stdlib/json/__init__.py:[]:dumps",
                                        "train.py:[]:<lambda>"};
    GRAPHED(p, run);
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        EQUAL(picture_visibility(&p, drawn[i]), FD_DRAWN);
    }
    EQUAL(p.graph.selection.functions[FD_DRAWN], 7);
    EQUAL(p.graph.boxes.count, 7);
}

static void
the_rest_is_counted_by_reason(void)
{
    GRAPHED(p, run);
    IS("torch/optim/adam.py:[]:adam", FD_FOLDED_TORCH);
    IS("torch/nn/modules/module.py:[GPT]:_call_impl", FD_FOLDED_TORCH);
    IS("torch/_dynamo/guards.py:[]:check", FD_FOLDED_TORCH);
    IS("torch/utils.py:[]:wrapper", FD_FOLDED_TORCH);
    IS("stdlib/json/encoder.py:[JSONEncoder]:encode", FD_FOLDED_OTHER);
    IS("train.py:[]:<listcomp>", FD_FOLDED_INNER);
    IS("train.py:[]:tiny", FD_SMALL);
    IS("aten::mm", FD_LEFT_OUT);
    IS("main", FD_LEFT_OUT);
    const fd_selection *selection = &p.graph.selection;
    EQUAL(selection->functions[FD_FOLDED_TORCH], 4);
    EQUAL(selection->functions[FD_FOLDED_OTHER], 1);
    EQUAL(selection->functions[FD_FOLDED_INNER], 1);
    EQUAL(selection->functions[FD_SMALL], 1);
    EQUAL(selection->functions[FD_JOINED] + selection->functions[FD_DELETED],
          0);
    EQUAL(selection->operators[FD_LEFT_OUT], 1);
    EQUAL(selection->small, 5);
}

/* Only frameworks: no user code, so no callees of it. */
static void
a_framework_alone_is_folded(void)
{
    static const picture_call alone[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {STDLIB(1, "stdlib/threading.py:Thread:start", 1, 10)},
        {TORCH(2, "torch/nn/functional.py::gelu", 1, 10)},
        {.depth = 2,
         .kind = FD_NODE_PYTHON,
         .from = FD_FROM_GENERATED,
         .package = "<string>",
         .name = "<string>::made",
         .calls = 1,
         .self = 10},
    };
    GRAPHED(p, alone);
    EQUAL(p.graph.boxes.count, 0);
    EQUAL(p.graph.selection.functions[FD_FOLDED_TORCH], 1);
    EQUAL(p.graph.selection.functions[FD_FOLDED_OTHER], 2);
}

/* One context in which user code calls it is enough. */
static void
drawn_for_one_path(void)
{
    static const picture_call paths[] = {
        {USER(0, "train.py::main", 1, 100)},
        {TORCH(1, "torch/a.py::public", 1, 100)},
        {TORCH(2, "torch/a.py::second", 1, 100)},
        {TORCH(1, "torch/a.py::second", 1, 100)},
        {TORCH(1, "torch/a.py::<lambda>", 1, 100)},
    };
    GRAPHED(p, paths);
    IS("torch/a.py:[]:second", FD_DRAWN);
    IS("torch/a.py:[]:<lambda>", FD_FOLDED_TORCH);
    EQUAL(p.graph.selection.functions[FD_FOLDED_TORCH], 1);
    EQUAL(
        picture_edge(&p, "torch/a.py:[]:public", "torch/a.py:[]:second").calls,
        1);
}

static void
wrappers_of_decorators(void)
{
    static const picture_call wrapped[] = {
        {USER(0, "a.py::f", 1, 100)},
        {USER(1, "a.py::wrapper", 1, 100),
         .qualified = "timed.<locals>.wrapper"},
        {USER(1, "a.py::wrap_model", 1, 100), .qualified = "wrap_model"},
        {USER(1, "a.py::inner", 1, 100), .qualified = "timed.<locals>.inner"},
        {USER(1, "a.py::step", 1, 100), .qualified = "timed.<locals>.step"},
    };
    GRAPHED(p, wrapped);
    IS("a.py:[]:wrapper", FD_FOLDED_INNER);
    IS("a.py:[]:inner", FD_FOLDED_INNER);
    IS("a.py:[]:wrap_model", FD_DRAWN);
    IS("a.py:[]:step", FD_DRAWN);
}

/* Collectives deep in a framework are drawn; libraries that were already
 * running, and context managers of autograd, are not. */
static void
collectives_and_running_libraries(void)
{
    static const picture_call calls[] = {
        {USER(0, "train.py::main", 0, 100)},
        {SITE(1, "lightning", "lightning/trainer.py:Trainer:fit", 0, 100)},
        {USER(2, "train.py:Net:training_step", 5, 100)},
        {TORCH(3, "torch/autograd/profiler.py:record_function:__init__", 5,
               100)},
        {TORCH(3, "torch/_fsdp/_state.py:State:_pre_forward", 5, 100)},
        {TORCH(4, "torch/distributed/distributed_c10d.py::all_gather", 5,
               100)},
        {TORCH(5, "torch/distributed/distributed_c10d.py::_helper", 5, 100)},
    };
    GRAPHED(p, calls);
    IS("train.py:[]:main", FD_DRAWN);
    IS("lightning/trainer.py:[Trainer]:fit", FD_FOLDED_RUNNING);
    IS("torch/autograd/profiler.py:[record_function]:__init__",
       FD_FOLDED_TORCH);
    IS("torch/distributed/distributed_c10d.py:[]:all_gather", FD_DRAWN);
    IS("torch/distributed/distributed_c10d.py:[]:_helper", FD_FOLDED_TORCH);
    EQUAL(p.graph.selection.functions[FD_FOLDED_RUNNING], 1);
}

static void
ranges_of_a_reader(void)
{
    static const picture_call ranges[] = {
        {USER(0, "train.py::main", 1, 100)},
        {OTHER(1, FD_NODE_RANGE, "outer", 1, 100)},
        {OTHER(2, FD_NODE_RANGE, "inner", 1, 100)},
        {TORCH(1, "torch/optim/adam.py:Adam:step", 1, 100)},
        {OTHER(2, FD_NODE_RANGE, "Optimizer.step#Adam", 1, 100)},
        {OTHER(3, FD_NODE_RANGE, "nested", 1, 100)},
    };
    GRAPHED(p, ranges);
    IS("outer", FD_DRAWN);
    IS("inner", FD_DRAWN);
    IS("Optimizer.step#Adam", FD_FOLDED_TORCH);
    IS("nested", FD_FOLDED_TORCH);
    p.options.style = FD_STYLE_CLASSIC;
    OK(picture_graph(&p));
    IS("outer", FD_LEFT_OUT);
    p.options = (fd_export_options){.rank = FD_ALL_RANKS, .all = true};
    OK(picture_graph(&p));
    IS("nested", FD_DRAWN);
}

static void
all_and_classic_fold_nothing(void)
{
    PICTURE(p, run);
    for (int classic = 0; classic < 2; classic++) {
        p.options.all = !classic;
        p.options.style = classic ? FD_STYLE_CLASSIC : FD_STYLE_DEFAULT;
        p.options.min_percent = -1;
        OK(picture_graph(&p));
        EQUAL(p.graph.selection.functions[FD_DRAWN], 14);
        EQUAL(p.graph.boxes.count, 14);
        p.options.min_percent = 5; /* but what was asked for */
        OK(picture_graph(&p));
        EQUAL(p.graph.selection.functions[FD_SMALL], 7);
    }
}

/* Less than a tick was measured; without a threshold it is drawn. */
static void
instants_are_drawn(void)
{
    static const picture_call instant[] = {
        {USER(0, "train.py::main", 1, 100)},
        {USER(1, "train.py::instant", 1, 0)},
    };
    PICTURE(p, instant);
    p.options.min_percent = 0;
    OK(picture_graph(&p));
    IS("train.py:[]:instant", FD_DRAWN);
    p.options.min_percent = -1;
    OK(picture_graph(&p));
    IS("train.py:[]:instant", FD_SMALL);
}

static void
threshold_in_percent(void)
{
    PICTURE(p, run);
    p.options.min_percent = 0;
    OK(picture_graph(&p));
    IS("train.py:[]:tiny", FD_DRAWN);
    EQUAL(p.graph.selection.small, 0);
    p.options.min_percent = 10; /* of 10 005: 1 000 is less */
    OK(picture_graph(&p));
    IS("torch/nn/functional.py:[]:gelu", FD_SMALL);
    IS("stdlib/json/__init__.py:[]:dumps", FD_SMALL);
    IS("torch/optim/adam.py:[Adam]:step", FD_DRAWN);
    EQUAL(p.graph.selection.small, 1000);
    CHECK(p.graph.selection.min_percent > 9.9);
}

enum { CROWD = 70 };

/* 70 functions of 100, 101, ... ns and as many operators of 200, 201, ... */
static fd_status
crowd(picture *p, char names[2 * CROWD][24])
{
    picture_call calls[2 * CROWD + 1] = {{USER(0, "a.py::main", 1, 1)}};
    for (uint32_t i = 0; i < CROWD; i++) {
        snprintf(names[i], sizeof names[i], "a.py::f%u", i);
        snprintf(names[CROWD + i], sizeof names[i], "aten::o%u", i);
        calls[1 + i] = (picture_call){USER(1, names[i], 1, 100 + i)};
        calls[1 + CROWD + i] =
            (picture_call){OP(1, names[CROWD + i], 1, 200 + i)};
    }
    calls[1 + 60].self = calls[1 + 10].self; /* two share the last place */
    return picture_make(p, calls, 2 * CROWD + 1, false);
}

static void
a_crowd_raises_the_threshold(void)
{
    static char names[2 * CROWD][24];
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(crowd(&p, names));
    p.options.ops = FD_OPS_ALL;
    OK(picture_graph(&p));
    /* main and the 59 slowest: of 110 ns and more, which are 60. */
    EQUAL(p.graph.selection.functions[FD_DRAWN], 61);
    EQUAL(p.graph.selection.functions[FD_SMALL], 10);
    IS("a.py:[]:f60", FD_DRAWN);
    IS("a.py:[]:f10", FD_DRAWN);
    IS("a.py:[]:f9", FD_SMALL);
    EQUAL(p.graph.selection.operators[FD_DRAWN], 40);
    EQUAL(p.graph.selection.operators[FD_SMALL], 30);
    EQUAL(p.graph.selection.small, 229);
    p.options.min_percent = 0; /* --all draws all */
    OK(picture_graph(&p));
    EQUAL(p.graph.selection.functions[FD_DRAWN], 71);
    EQUAL(p.graph.selection.operators[FD_DRAWN], 70);
}

static void
globs_decide_last(void)
{
    static const char *const hide[] = {"*:[]:gelu", "stdlib", "aten::*"};
    static const char *const contract[] = {"*gelu", "megatron", "*tiny"};
    PICTURE(p, run);
    p.options.hide = (fd_export_globs){hide, 3};
    p.options.contract = (fd_export_globs){contract, 3};
    OK(picture_graph(&p));
    IS("torch/nn/functional.py:[]:gelu", FD_DELETED);
    IS("stdlib/json/__init__.py:[]:dumps", FD_DELETED);
    IS("megatron/model.py:[GPT]:forward", FD_JOINED);
    IS("train.py:[]:tiny", FD_JOINED);
    /* Operators were not requested: none can be deleted. */
    IS("aten::mm", FD_LEFT_OUT);
    EQUAL(p.graph.selection.functions[FD_DELETED], 3);
    EQUAL(p.graph.selection.functions[FD_JOINED], 2);
    EQUAL(p.graph.selection.operators[FD_DELETED], 0);
    p.options.ops = FD_OPS_ALL;
    OK(picture_graph(&p));
    EQUAL(p.graph.selection.operators[FD_DELETED], 1);
}

static void
only_calls_of_the_rank(void)
{
    static const picture_call ranks[] = {
        {USER(0, "t.py::both", 1, 10)},
        {TORCH(1, "torch/a.py::_zero", 1, 10)},
        {USER(0, "t.py::both", 1, 10), .rank = 1},
        {STDLIB(1, "stdlib/a.py::_one", 1, 10), .rank = 1},
    };
    PICTURE(p, ranks);
    p.options.rank = 1;
    OK(picture_graph(&p));
    EQUAL(p.graph.selection.functions[FD_FOLDED_TORCH], 0);
    EQUAL(p.graph.selection.functions[FD_FOLDED_OTHER], 1);
    EQUAL(p.graph.selection.functions[FD_LEFT_OUT], 1);
}

RUN(TEST(selected_functions_are_drawn), TEST(the_rest_is_counted_by_reason),
    TEST(a_framework_alone_is_folded), TEST(drawn_for_one_path),
    TEST(wrappers_of_decorators), TEST(collectives_and_running_libraries),
    TEST(ranges_of_a_reader), TEST(all_and_classic_fold_nothing),
    TEST(instants_are_drawn), TEST(threshold_in_percent),
    TEST(a_crowd_raises_the_threshold), TEST(globs_decide_last),
    TEST(only_calls_of_the_rank))
