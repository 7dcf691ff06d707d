#include "check.h"
#include "documents.h"

#include <math.h>

static void
values_of_all_kinds(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(document_load(NULL, NULL, &trace, NULL));
    CHECK(fixture_sound(trace));
    fd_figure run = fixture_figure(trace, 0, fixture_find(trace, "run"));
    CHECK(run.calls == 9007199254740993);
    CHECK(fabs(run.self_squares - 2.5) < 1e-12);
    CHECK(fabs(run.total_squares - 1000) < 1e-12);
    EQUAL(trace->contexts.list[1].parent, 0);
    EQUAL(trace->contexts.list[3].parent, 2);
    EQUAL(trace->contexts.list[3].module, 2);
    EQUAL(trace->nodes.list[1].kind, FD_NODE_PYTHON);
}

static void
numbers_in_other_forms(void)
{
    static const document_fault accepted[] = {
        {"\"line\":[0,7,0]", "\"line\":[\"0\",7.0,0]", ""},
        {"\"line\":[0,7,0]", "\"line\":[0,4294967295,0]", ""},
        {"\"age\":[11]", "\"age\":[\"18446744073709551615\"]", ""},
        {"\"age\":[11]", "\"age\":[9007199254740992]", ""},
        {"\"age\":[11]", "\"age\":[11],\"unknown\":[1,2]", ""},
    };
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        CLEAN(fixture_trace_free) fd_trace *trace = NULL;
        OK(document_load(accepted[i].from, accepted[i].to, &trace, NULL));
    }
}

static void
wrong_values(void)
{
    static const document_fault refused[] = {
        {"\"age\":[11]", "\"age\":[-1]", "open.age: a value has the wrong"},
        {"\"age\":[11]", "\"age\":[1.5]", "open.age: a value has the wrong"},
        {"\"age\":[11]", "\"age\":[1e300]", "open.age: a value has the"},
        {"\"age\":[11]", "\"age\":[9007199254740994]", "open.age: a value"},
        {"\"age\":[11]", "\"age\":[\"18446744073709551616\"]", "open.age:"},
        {"\"age\":[11]", "\"age\":[\"-1\"]", "open.age: a value has the"},
        {"\"age\":[11]", "\"age\":[\" 1x\"]", "open.age: a value has the"},
        {"\"age\":[11]", "\"age\":[\"\"]", "open.age: a value has the"},
        {"\"age\":[11]", "\"age\":[null]", "open.age: a value has the"},
        {"\"age\":[11]", "\"age\":[[11]]", "open.age: a value has the"},
        {"\"age\":[11]", "\"age\":[true]", "open.age: a value has the"},
        {"\"age\":[11]", "\"age\":[]", "open.age: fewer values"},
        {"\"age\":[11]", "\"age\":[11,12]", "open.age: more values"},
        {"\"age\":[11]", "\"age\":{}", "open.age: an array is missing"},
        {"\"age\":[11]", "\"ages\":[11]", "open.age: an array is missing"},
        {"\"line\":[0,7,0]", "\"line\":[0,4294967296,0]", "nodes.line:"},
        {"\"kind\":[7,1,2]", "\"kind\":[7,1,256]", "nodes.kind: a value"},
        {"\"file\":[0,1,0]", "\"file\":[0,6,0]", "nodes.file: a value"},
        {"\"file\":[0,1,0]", "\"file\":[0,-1,0]", "nodes.file: a value"},
        {"\"running\":[false]", "\"running\":[0]", "threads.running: a value"},
        {"[0,2.5]", "[0,\"2.5\"]", "figures.self_squares: a value"},
        {"[0,2.5]", "[0,1e999]", "figures.self_squares: a value"},
        {"\"root\":[0]", "\"root\":[-2]", "threads.root: a value"},
        {"\"root\":[0]", "\"root\":[0.5]", "threads.root: a value"},
        {"\"root\":[0]", "\"root\":[\"0\"]", "threads.root: a value"},
        {"\"nodes\":{", "\"node\":{", "nodes: the table is missing"},
        {"\"open\":{", "\"open\":[],\"x\":{", "open: the table is missing"},
    };
    EQUAL(documents_accepted(refused, sizeof refused / sizeof *refused), 0);
}

RUN(TEST(values_of_all_kinds), TEST(numbers_in_other_forms),
    TEST(wrong_values))
