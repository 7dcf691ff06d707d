#include "check.h"
#include "documents.h"

static void
wrong_references(void)
{
    static const document_fault refused[] = {
        {"\"op\"],", "7],", "strings: not a string"},
        {"[7,1,2]", "[7,0,2]", "nodes.kind: unknown kind"},
        {"[7,1,2]", "[7,11,2]", "nodes.kind: a value"},
        {"\"from\":[0,0,1]", "\"from\":[0,0,4]", "nodes.from: a value"},
        {"\"parent\":[-1,0],", "\"parent\":[-1,1],", "modules.parent: not an"},
        {"\"parent\":[-1,0],", "\"parent\":[1,-1],", "modules.parent: not an"},
        {"\"node\":[0,1,2]", "\"node\":[0,1,3]", "contexts.node: no such"},
        {"\"node\":[0,1,2]", "\"node\":[0,1,-1]", "contexts.node: no such"},
        {"\"module\":[-1,-1,1]", "\"module\":[-1,-1,2]", "contexts.module:"},
        {"\"parent\":[-1,0,1]", "\"parent\":[-1,0,3]", "contexts: a parent"},
        {"\"origin\":[-1,-1,-1]", "\"origin\":[-1,-1,9]", "contexts: a par"},
    };
    EQUAL(documents_accepted(refused, sizeof refused / sizeof *refused), 0);
}

/* Parents that run in a circle, or later than their children. */
static void
parents_in_any_order(void)
{
    static const char *const parents[] = {
        "\"parent\":[1,2,0]", "\"parent\":[0,1,2]", "\"parent\":[2,2,-1]",
        "\"parent\":[1,0,1]"};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        CLEAN(fixture_trace_free) fd_trace *trace = NULL;
        OK(document_load("\"parent\":[-1,0,1]", parents[i], &trace, NULL));
        EQUAL(trace->contexts.count, 4);
        CHECK(fixture_sound(trace));
    }
}

/* Equal nodes, modules and contexts of a document become one. */
static void
duplicates_join(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(document_load("\"node\":[0,1,2]", "\"node\":[0,0,0]", &trace, NULL));
    EQUAL(trace->nodes.count, 2);
    EQUAL(trace->contexts.count, 4);
}

RUN(TEST(wrong_references), TEST(parents_in_any_order), TEST(duplicates_join))
