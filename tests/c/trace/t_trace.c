#include "check.h"
#include "fixtures.h"
#include "timelines.h"

#include "base/buffer.h"
#include "trace/trace.h"

#include <math.h>

TEST(add_or_find)
{
    NEW_TRACE(trace);
    fd_trace_node node = {.kind = FD_NODE_PYTHON, .line = 3};
    OK(fixture_text(trace, "f", &node.name));
    uint32_t one;
    uint32_t two;
    OK(fd_trace_add_node(trace, &node, &one));
    OK(fd_trace_add_node(trace, &node, &two));
    CHECK(one == 1 && two == 1);
    node.line = 4;
    OK(fd_trace_add_node(trace, &node, &two));
    EQUAL(two, 2);
    fd_trace_context context = {.node = one, .flags = 1};
    OK(fd_trace_add_context(trace, &context, &one));
    context.flags = 8;
    OK(fd_trace_add_context(trace, &context, &two));
    CHECK(one == 1 && two == 1);
    EQUAL(trace->contexts.list[1].flags, 9);
    fd_trace_context others[4] = {context, context, context, context};
    others[0].parent = 1;
    others[1].node = 2;
    others[2].module = 1;
    others[3].origin = 1;
    for (uint32_t i = 0; i < 4; i++) {
        OK(fd_trace_add_context(trace, &others[i], &two));
        EQUAL(two, i + 2);
    }
}

/* Of two descriptions of one node the same one is used, in any order: a merge
 * must not depend on the order. */
TEST(descriptions_settle)
{
    uint32_t packages[2];
    for (int turn = 0; turn < 2; turn++) {
        NEW_TRACE(trace);
        fd_trace_node nodes[2] = {{.kind = FD_NODE_PYTHON, .from = 1},
                                  {.kind = FD_NODE_PYTHON, .from = 0}};
        OK(fixture_text(trace, "a", &nodes[0].package));
        OK(fixture_text(trace, "b", &nodes[1].package));
        uint32_t id;
        OK(fd_trace_add_node(trace, &nodes[turn], &id));
        OK(fd_trace_add_node(trace, &nodes[1 - turn], &id));
        EQUAL(trace->nodes.count, 2);
        packages[turn] = trace->nodes.list[1].package;
    }
    EQUAL(packages[0], packages[1]);
}

TEST(figures_add_up)
{
    fd_figure sum = {.context = 3};
    fd_figure one = {.calls = 2,
                     .resumes = 1,
                     .self = 10,
                     .stepped = 8,
                     .steps = 2,
                     .last_step = 5,
                     .self_min = 3,
                     .self_max = 5,
                     .total_min = 4,
                     .total_max = 9,
                     .self_squares = 34,
                     .total_squares = 97};
    fd_figure two = {.calls = 1,
                     .self = 7,
                     .stepped = 7,
                     .steps = 1,
                     .last_step = 2,
                     .self_min = 7,
                     .self_max = 7,
                     .total_min = 2,
                     .total_max = 2,
                     .self_squares = 49,
                     .total_squares = 4};
    fd_figure none = {.calls = 1, .self = 1};
    fd_figure_add(&sum, &one);
    fd_figure_add(&sum, &two);
    fd_figure_add(&sum, &none);
    EQUAL(sum.context, 3);
    CHECK(sum.calls == 4 && sum.resumes == 1 && sum.self == 18);
    CHECK(sum.stepped == 15 && sum.steps == 2 && sum.last_step == 5);
    CHECK(sum.self_min == 3 && sum.self_max == 7);
    CHECK(sum.total_min == 2 && sum.total_max == 9);
    CHECK(fabs(sum.self_squares - 83) < 1e-9);
    CHECK(fabs(sum.total_squares - 101) < 1e-9);
}

TEST(keys_and_module_names)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    uint32_t forward = fixture_find(trace, "forward");
    uint32_t linear = fixture_find(trace, "aten::linear");
    const fd_trace_context *block =
        &trace->contexts.list[trace->contexts.list[linear].parent];
    fd_trace_node_key(trace, trace->contexts.list[forward].node, &text);
    fd_buffer_text(&text, " ");
    fd_trace_node_key(trace, trace->contexts.list[linear].node, &text);
    fd_buffer_text(&text, " ");
    fd_trace_module_name(trace, block->module, &text);
    fd_buffer_text(&text, " ");
    trace->nodes.list[block->node].ambiguous = true;
    fd_trace_node_key(trace, block->node, &text);
    WRITTEN(&text, "model.py:[GPT]:forward aten::linear blocks.0 "
                   "model.py:[Block]:forward@40");
}

/* The most of any rank counts, in any order. */
TEST(parameters_settle)
{
    NEW_TRACE(trace);
    fd_trace_module module = {.parameters = 7, .parameter_bytes = 28};
    OK(fixture_text(trace, "m", &module.name));
    uint32_t id;
    uint32_t same;
    OK(fd_trace_add_module(trace, &module, &id));
    module.parameters = 5;
    module.parameter_bytes = 40;
    OK(fd_trace_add_module(trace, &module, &same));
    EQUAL(same, id);
    FIELDS(&trace->modules.list[id], (parameters, 7), (parameter_bytes, 40));
}

/* Deeper than any model: the name is cut. */
TEST(deep_modules)
{
    NEW_TRACE(trace);
    CLEAN(fd_buffer_clear) fd_buffer name = {.bytes = NULL};
    fd_trace_module module = {.parent = 0};
    OK(fixture_text(trace, "m", &module.name));
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t id;
        OK(fd_trace_add_module(trace, &module, &id));
        module.parent = id;
    }
    fd_trace_module_name(trace, module.parent, &name);
    OK(name.status);
    EQUAL(name.size, 2 * 64 - 1);
}

ABSORBS(labels_and_offsets_of_ranks)
{
    TIMELINE_TRACE(trace, true);
    CLEAN(fd_buffer_clear) fd_buffer label = {.bytes = NULL};
    EQUAL(fd_rank_offset(trace, &trace->ranks.list[0]), 0);
    EQUAL(fd_rank_offset(trace, &trace->ranks.list[1]), 1000);
    EQUAL(fd_first_offset(trace), 0);
    trace->ranks.list[1].start.boottime_ns = 4200;
    EQUAL(fd_first_offset(trace), -800);
    fd_trace_rank *last = &trace->ranks.list[1];
    OK(fixture_fact(trace, last, "host", "\"node7\""));
    OK(fixture_fact(trace, last, "coordinates", "{\"pipe\":1,\"data\":0}"));
    fd_rank_label(trace, last, &label);
    WRITTEN(&label, "rank 1 | node7 | pipe 1, data 0");
}
