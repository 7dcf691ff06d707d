#include "check.h"
#include "fixtures.h"

#include "profile/call_groups.h"

#include <string.h>

static uint32_t
group_of(const fd_groups *groups, const char *label)
{
    for (uint32_t i = 1; i < groups->list.count; i++) {
        if (strcmp(
                fd_text_pool_get(&groups->labels, groups->list.list[i].label),
                label)
            == 0) {
            return i;
        }
    }
    return 0;
}

TEST(labels_by_grouping)
{
    static const struct {
        fd_grouping grouping;
        uint32_t count;
        const char *labels[4];
    } cases[] = {
        {FD_BY_NODE,
         11,
         {"main", "train.py:[]:train", "aten::linear", "AddmmBackward0"}},
        {FD_BY_FUNCTION,
         4,
         {"train.py:[]:train", "model.py:[GPT]:forward",
          "model.py:[Block]:forward", "model.py:[Adam]:step"}},
        {FD_BY_OPERATOR,
         5,
         {"aten::embedding", "aten::linear", "aten::mm",
          "torch::autograd::AccumulateGrad"}},
        {FD_BY_MODULE, 2, {"GPT", "blocks.*", "GPT", "blocks.*"}},
        {FD_BY_PACKAGE, 5, {"train", "model", "aten::", "autograd"}},
    };
    TRAINED_TRACE(trace, 0, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL};
        OK(fd_groups_make(&groups, trace, cases[i].grouping));
        EQUAL(groups.list.count, cases[i].count + 1);
        for (int k = 0; k < 4; k++) {
            CHECK(group_of(&groups, cases[i].labels[k]) != 0);
        }
    }
}

TEST(members_and_contexts)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL};
    OK(fd_groups_make(&groups, trace, FD_BY_MODULE));
    uint32_t blocks = group_of(&groups, "blocks.*");
    EQUAL(groups.list.list[blocks].members, 2);
    uint32_t linear = fixture_find(trace, "aten::linear");
    EQUAL(groups.of_context[trace->contexts.list[linear].parent], blocks);
    EQUAL(groups.of_context[linear], 0);
    EQUAL(groups.of_context[fixture_find(trace, "train")], 0);
}

/* Only components that are numbers fold. */
TEST(module_patterns)
{
    static const char *const names[][2] = {{"blocks.3.attn", "blocks.*.attn"},
                                           {"h2.fc1", "h2.fc1"},
                                           {"0", "*"},
                                           {"12.0", "*.*"},
                                           {"a.1b.2", "a.1b.*"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        NEW_TRACE(trace);
        CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL};
        uint32_t id;
        fd_trace_module root = {.parent = 0};
        fd_trace_module module = {.parent = 1};
        OK(fd_trace_add_module(trace, &root, &id));
        OK(fixture_text(trace, names[i][0], &module.name));
        OK(fd_trace_add_module(trace, &module, &id));
        OK(fixture_add(trace, 0, FD_NODE_OP, "op", 1, 1, &id));
        trace->contexts.list[id].module = 2;
        OK(fd_groups_make(&groups, trace, FD_BY_MODULE));
        SAME(fd_text_pool_get(&groups.labels, groups.list.list[1].label),
             names[i][1]);
    }
}

/* Two nodes with one label share a group when they are of one kind: here the
 * same function, its lines unmarked because nothing sorted the trace. An
 * operator and a range of one name stay apart. */
TEST(labels_join)
{
    NEW_TRACE(trace);
    CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL};
    uint32_t one;
    uint32_t two;
    uint32_t other;
    OK(fixture_add(trace, 0, FD_NODE_OP, "", 1, 1, &one));
    OK(fixture_add(trace, one, FD_NODE_OP, "", 1, 1, &two));
    OK(fixture_add(trace, 0, FD_NODE_RANGE, "", 1, 1, &other));
    OK(fd_groups_make(&groups, trace, FD_BY_NODE));
    EQUAL(groups.list.count, 3);
    EQUAL(groups.of_context[one], groups.of_context[two]);
    CHECK(groups.of_context[one] != groups.of_context[other]);
}
