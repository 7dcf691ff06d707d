#include "check.h"
#include "pictures.h"

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
    {USER(1, "train.py::step", 1, 10)},
    {OTHER(2, FD_NODE_RANGE, "evaluate", 1, 10)},
    {TORCH(3, "torch/nn/module.py:GPT:_call_impl", 2, 5)},
    {OP(4, "aten::linear", 2, 5)},
    {USER(5, "hook.py::on_linear", 2, 1)},
    {USER(2, "a.py::B", 1, 1)},
    {USER(2, "a.py::_", 1, 1)},
};

/* By bytes: capitals before '_' before small letters, ".py:" before "/". */
static void
two_sorted_lists(void)
{
    PICTURE(p, run);
    OK(picture_write(&p, "callgraph"));
    SAME(p.text.bytes,
         "{\"nodes\":[\n"
         "\"a.py:[]:B\",\n"
         "\"a.py:[]:_\",\n"
         "\"hook.py:[]:on_linear\",\n"
         "\"torch/nn/module.py:[GPT]:_call_impl\",\n"
         "\"train.py:[]:step\"],\n"
         "\"edges\":[\n"
         "\"torch/nn/module.py:[GPT]:_call_impl->hook.py:[]:on_linear\",\n"
         "\"train.py:[]:step->a.py:[]:B\",\n"
         "\"train.py:[]:step->a.py:[]:_\",\n"
         "\"train.py:[]:step->torch/nn/module.py:[GPT]:_call_impl\"]}\n");
    EQUAL(p.text.bytes[p.text.size - 1], '\n');
}

static void
operators_on_request(void)
{
    PICTURE(p, run);
    p.options.ops = FD_OPS_ALL;
    OK(picture_write(&p, "callgraph"));
    CHECK(picture_has(&p, "\"a.py:[]:_\",\n\"aten::linear\",\n\"hook.py"));
    CHECK(picture_has(&p, "\"aten::linear->hook.py:[]:on_linear\""));
    CHECK(picture_has(&p, "_call_impl->aten::linear\""));
    CHECK(picture_lacks(&p, "_call_impl->hook.py"));
}

/* Nothing is folded for being small or of a library, whatever the style. */
static void
requested_parts_are_omitted(void)
{
    PICTURE(p, run);
    static const char *const hooks[] = {"hook*"};
    static const char *const steps[] = {"*_call_impl"};
    p.options.hide = (fd_export_globs){hooks, 1};
    p.options.contract = (fd_export_globs){steps, 1};
    OK(picture_write(&p, "callgraph"));
    SAME(p.text.bytes, "{\"nodes\":[\n\"a.py:[]:B\",\n\"a.py:[]:_\",\n"
                       "\"train.py:[]:step\"],\n"
                       "\"edges\":[\n\"train.py:[]:step->a.py:[]:B\",\n"
                       "\"train.py:[]:step->a.py:[]:_\"]}\n");
}

static void
nothing_recorded(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(picture_make(&p, NULL, 0, false));
    OK(picture_write(&p, "callgraph"));
    SAME(p.text.bytes, "{\"nodes\":[],\n\"edges\":[]}\n");
}

RUN(TEST(two_sorted_lists), TEST(operators_on_request),
    TEST(requested_parts_are_omitted), TEST(nothing_recorded))
