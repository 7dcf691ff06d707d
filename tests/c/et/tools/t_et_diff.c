#include "traces.h"

#include "et/tools/et_diff.h"

#include <stdio.h>
#include <string.h>

#define T(ts, dur) ", \"ts\": " #ts ", \"inclusive_dur\": " #dur

static fd_et_diff_name
row_of(const fd_et_diff *diff, const char *name)
{
    for (uint32_t i = 0; i < diff->names.count; i++) {
        const fd_et_diff_name *row = &diff->names.list[i];
        if (strcmp(fd_text_pool_get(&diff->texts, row->name), name) == 0) {
            return *row;
        }
    }
    return (fd_et_diff_name){.name = 0};
}

/* The second trace lacks aten::relu_, has a message more, and sends 8 bytes
 * where the first sends 24. */
static fd_status
load_other(fd_et *et)
{
    fd_buffer text = {.bytes = NULL};
    traces_begin(&text);
    traces_node(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "",
                "[]", "[]");
    traces_node(&text, 3, 2, "## process_group:init ##", "", "[]", "[]");
    traces_node(&text, 4, 2, "aten::linear", "aten::linear(Tensor x)", "[]",
                "[]");
    traces_node(&text, 5, 4, "aten::addmm", "aten::addmm(Tensor x)", "[]",
                "[]");
    traces_node(&text, 7, 2, "aten::view", "aten::view(Tensor(a) self)", "[]",
                "[]");
    traces_node(&text, 8, 2, "c10d::allreduce_", "c10d::allreduce_()", "[]",
                "[]");
    traces_node(&text, 9, 8, "gloo:all_reduce", "", "[[12,22,0,2,4,\"cpu\"]]",
                "[]");
    traces_node(&text, 20, 2, "c10d::send", "c10d::send()",
                "[[[12,22,0,2,4,\"cpu\"]],\"<Object>\",1,7]", "[]");
    traces_node(&text, 21, 2, "wrapped", "", "[]", "[]");
    traces_node(&text, 22, 21, "c10d::send", "c10d::send()",
                "[[[12,22,0,2,4,\"cpu\"]],\"<Object>\",1,7]", "[]");
    traces_node(&text, 1, 1, "[pytorch|profiler|execution_trace|process]", "",
                "[]", "[]");
    traces_end(&text);
    fd_status status = traces_load(et, "b.json", &text, FD_ET_ALL_KINDS, NULL);
    fd_buffer_clear(&text);
    return status;
}

static void
different(void)
{
    CLEAN(fd_et_clear) fd_et a;
    CLEAN(fd_et_clear) fd_et b = {.rank = -1};
    CLEAN(fd_et_diff_clear) fd_et_diff diff = {.threshold = 0.1};
    OK(traces_loaded(&a));
    OK(load_other(&b));
    OK(fd_et_diff_add(&diff, &a, &b));
    CHECK(fd_et_diff_any(&diff));
    EQUAL(diff.paired, 9);
    EQUAL(row_of(&diff, "aten::relu_").count[0], 1);
    EQUAL(row_of(&diff, "aten::relu_").count[1], 0);
    EQUAL(row_of(&diff, "c10d::send").count[1], 2);
    EQUAL(row_of(&diff, "c10d::send").counts.count, 1);
    CHECK(!fd_et_diff_differs(&diff.names.list[0]));
    EQUAL(diff.only.count, 2);
    SAME(fd_text_pool_get(&diff.texts, diff.only.list[0].name), "aten::relu_");
    EQUAL(diff.only.list[0].side, 0);
    EQUAL(diff.only.list[0].id, 6);
    SAME(fd_text_pool_get(&diff.texts, diff.only.list[1].name), "wrapped");
    SAME(fd_text_pool_get(&diff.texts, diff.only.list[1].parent),
         "[pytorch|profiler|execution_trace|thread]");
    EQUAL(diff.only.list[1].count, 1);
    EQUAL(diff.only.list[1].nodes, 2);
    EQUAL(diff.changed.count, 2);
    const fd_et_diff_change *sum = &diff.changed.list[0];
    EQUAL(sum->what, FD_ET_COMMS_DIFFER);
    SAME(fd_text_pool_get(&diff.texts,
                          diff.signatures.list[sum->signatures[1] - 1].comm),
         "ALL_REDUCE 8 bytes");
    CHECK(diff.shared[FD_ET_ORDER] < diff.edges[FD_ET_ORDER][0]);
}

static fd_status
load_shapes(fd_et *et, const char *shapes, const char *types, const char *more)
{
    fd_buffer text = {.bytes = NULL};
    traces_begin(&text);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    fd_buffer_format(&text,
                     ",{\"id\": 3, \"name\": \"ProfilerStep#%s\", "
                     "\"ctrl_deps\": 2, \"inputs\": {\"values\": [], "
                     "\"shapes\": %s, \"types\": %s, \"strides\": []}, "
                     "\"outputs\": {\"values\": [], \"shapes\": [], "
                     "\"types\": [], \"strides\": []}, \"attrs\": []%s}",
                     more[0] == '\0' ? "9" : "10", shapes, types, more);
    traces_end(&text);
    fd_status status = traces_load(et, "s.json", &text, FD_ET_ALL_KINDS, NULL);
    fd_buffer_clear(&text);
    return status;
}

static void
signatures(void)
{
    static const struct {
        const char *shapes;
        const char *types;
        uint32_t what;
    } cases[] = {{"[[2, 3]]", "[\"Tensor(float)\"]", 0},
                 {"[[2,4]]", "[\"Tensor(float)\"]", FD_ET_SHAPES_DIFFER},
                 {"[[2,3]]", "[\"Tensor(long)\"]", FD_ET_TYPES_DIFFER},
                 {"[[3]]", "[]", FD_ET_SHAPES_DIFFER | FD_ET_TYPES_DIFFER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_clear) fd_et a;
        CLEAN(fd_et_clear) fd_et b = {.rank = -1};
        CLEAN(fd_et_diff_clear) fd_et_diff diff = {.threshold = 0};
        OK(load_shapes(&a, "[[2,3]]", "[\"Tensor(float)\"]", ""));
        OK(load_shapes(&b, cases[i].shapes, cases[i].types, T(1, 2)));
        OK(fd_et_diff_add(&diff, &a, &b));
        EQUAL(diff.timed[1], 1);
        EQUAL(diff.timed[0], 0);
        EQUAL(diff.changed.count, cases[i].what != 0);
        CHECK(fd_et_diff_any(&diff) == (cases[i].what != 0));
        EQUAL(cases[i].what == 0 ? 0 : diff.changed.list[0].what,
              cases[i].what);
    }
}

static fd_status
load_times(fd_et *et, unsigned a, unsigned b)
{
    fd_buffer text = {.bytes = NULL};
    char more[64];
    traces_begin(&text);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    snprintf(more, sizeof more, ", \"ts\": 100, \"inclusive_dur\": %u", a);
    traces_more(&text, 3, 2, "long", more);
    snprintf(more, sizeof more, ", \"ts\": 5000, \"inclusive_dur\": %u", b);
    traces_more(&text, 4, 2, "short", more);
    traces_end(&text);
    fd_status status = traces_load(et, "t.json", &text, FD_ET_ALL_KINDS, NULL);
    fd_buffer_clear(&text);
    return status;
}

/* The change of the second rank is not lost in the sum; a short call that takes
 * twice as long is not reported. */
static void
times(void)
{
    CLEAN(fd_et_clear) fd_et a;
    CLEAN(fd_et_clear) fd_et b = {.rank = -1};
    CLEAN(fd_et_clear) fd_et c = {.rank = -1};
    CLEAN(fd_et_diff_clear) fd_et_diff diff = {.threshold = 0.2};
    CLEAN(fd_et_diff_clear) fd_et_diff none = {.threshold = -1};
    OK(load_times(&a, 1000, 10));
    OK(load_times(&b, 1150, 20));
    OK(load_times(&c, 1300, 10));
    b.rank = 0;
    c.rank = 1;
    OK(fd_et_diff_add(&diff, &b, &b));
    CHECK(!fd_et_diff_any(&diff));
    OK(fd_et_diff_add(&diff, &a, &b));
    CHECK(!fd_et_diff_any(&diff));
    a.rank = 1;
    OK(fd_et_diff_add(&diff, &a, &c));
    CHECK(fd_et_diff_any(&diff));
    EQUAL(row_of(&diff, "long").times.count, 1);
    EQUAL(row_of(&diff, "long").times.first, 1);
    EQUAL(row_of(&diff, "long").ns[1], 3600000);
    EQUAL(row_of(&diff, "short").times.count, 0);
    EQUAL(diff.ranks, 3);
    OK(fd_et_diff_add(&none, &a, &c));
    CHECK(!fd_et_diff_any(&none));
}

RUN(TEST(different), TEST(signatures), TEST(times))
