#include "check.h"
#include "timelines.h"

#include "events/recorded/slice_names.h"

#include <string.h>

static void
names_and_categories(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_slice_names_clear) fd_slice_names names = {.of_context = NULL};
    OK(fixture_trace(&trace, 0, NULL));
    OK(fd_slice_names_make(&names, trace));
    static const struct {
        const char *node;
        const char *name;
        const char *category;
    } wanted[] = {{"train", "train", "train.py"},
                  {"aten::embedding", "aten::embedding", "op"},
                  {"AddmmBackward0", "AddmmBackward0", "autograd"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        fd_slice_name name =
            names.of_context[fixture_find(trace, wanted[i].node)];
        SAME(fd_text_pool_get(&names.names, name.name), wanted[i].name);
        SAME(fd_text_pool_get(&names.categories, name.category),
             wanted[i].category);
    }
}

static void
modules_are_part_of_the_name(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_slice_names_clear) fd_slice_names names = {.of_context = NULL};
    OK(fixture_trace(&trace, 0, NULL));
    OK(fd_slice_names_make(&names, trace));
    bool found = false;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const char *name =
            fd_text_pool_get(&names.names, names.of_context[i].name);
        found = found || strstr(name, "blocks.1 [Block]:forward") == name;
    }
    CHECK(found);
}

RUN(TEST(names_and_categories), TEST(modules_are_part_of_the_name))
