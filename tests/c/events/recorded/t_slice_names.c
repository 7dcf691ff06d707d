#include "check.h"
#include "timelines.h"

#include "events/recorded/slice_names.h"
#include "trace/rank_facts.h"

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
        const char *name = fd_text_pool_get(&names.names,
                                            names.of_context[i].name);
        found = found || strstr(name, "blocks.1 [Block]:forward") == name;
    }
    CHECK(found);
}

static void
labels_and_offsets_of_ranks(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer label = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    EQUAL(fd_rank_offset(trace, &trace->ranks.list[0]), 0);
    EQUAL(fd_rank_offset(trace, &trace->ranks.list[1]), 1000);
    EQUAL(fd_first_offset(trace), 0);
    trace->ranks.list[1].start.boottime_ns = 4200;
    EQUAL(fd_first_offset(trace), -800);
    fd_trace_meta host = {.key = 0};
    fd_trace_meta place = {.key = 0};
    OK(fd_text_pool_add(&trace->texts, "host", 4, &host.key));
    OK(fd_text_pool_add(&trace->texts, "\"node7\"", 7, &host.json));
    OK(fd_vector_push(&trace->ranks.list[1].meta, host));
    OK(fd_text_pool_add(&trace->texts, "coordinates", 11, &place.key));
    OK(fd_text_pool_add(&trace->texts, "{\"pipe\":1,\"data\":0}", 19,
                        &place.json));
    OK(fd_vector_push(&trace->ranks.list[1].meta, place));
    fd_rank_label(trace, &trace->ranks.list[1], &label);
    fd_buffer_bytes(&label, "", 1);
    OK(label.status);
    SAME(label.bytes, "rank 1 | node7 | pipe 1, data 0");
}

RUN(TEST(names_and_categories), TEST(modules_are_part_of_the_name),
    ABSORBS(labels_and_offsets_of_ranks))
