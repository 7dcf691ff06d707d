#include "check.h"
#include "timelines.h"

#include "events/recorded/slice_names.h"

#include <string.h>

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

RUN(TEST(modules_are_part_of_the_name))
