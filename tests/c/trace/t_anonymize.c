#include "check.h"
#include "fixtures.h"

#include "trace/anonymize.h"

#include <string.h>

static bool
has_text(const fd_trace *trace, const char *part)
{
    for (uint32_t i = 1; i < trace->texts.texts.count; i++) {
        if (strstr(fd_trace_text(trace, i), part) != NULL) {
            return true;
        }
    }
    return false;
}

static void
names_of_the_user_go(void)
{
    TRAINED_TRACE(trace, 0, "run");
    uint32_t nodes = trace->nodes.count;
    uint32_t contexts = trace->contexts.count;
    CHECK(has_text(trace, "train") && has_text(trace, "GPT"));
    OK(fd_trace_anonymize(trace, "salt", 4));
    CHECK(!has_text(trace, "train") && !has_text(trace, "GPT"));
    CHECK(!has_text(trace, "blocks"));
    CHECK(has_text(trace, "aten::linear")
          && has_text(trace, "AccumulateGrad"));
    CHECK(has_text(trace, "f_"));
    EQUAL(trace->nodes.count, nodes);
    EQUAL(trace->contexts.count, contexts);
}

/* Numbers about clocks stay; texts of failures do not. */
static void
facts_without_names_stay(void)
{
    static const struct {
        const char *key;
        const char *json;
        bool stays;
    } facts[] = {{"clock", "{\"pings\":[[0,1,2]]}", true},
                 {"clock", "{\"trouble\":\"node7\"}", false},
                 {"torch", "\"2.13\"", true},
                 {"command", "[\"train.py\"]", false}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        TRAINED_TRACE(trace, 0, "run");
        trace->ranks.list[0].meta.count = 0;
        OK(fixture_fact(trace, &trace->ranks.list[0], facts[i].key,
                        facts[i].json));
        OK(fd_trace_anonymize(trace, "salt", 4));
        EQUAL(trace->ranks.list[0].meta.count, facts[i].stays ? 2 : 1);
        CHECK(has_text(trace, "anonymous"));
    }
}

static void
salts_part_and_join(void)
{
    TRAINED_TRACE(one, 0, "run");
    TRAINED_TRACE(same, 0, "run");
    TRAINED_TRACE(other, 0, "run");
    OK(fd_trace_anonymize(one, "salt", 4));
    OK(fd_trace_anonymize(same, "salt", 4));
    OK(fd_trace_anonymize(other, "pepper", 6));
    bool equal;
    OK(fixture_same(one, same, &equal));
    CHECK(equal);
    OK(fixture_same(one, other, &equal));
    CHECK(!equal);
}

static void
prefixes_are_cut(void)
{
    NEW_TRACE(trace);
    uint32_t id;
    OK(fixture_add(trace, 0, FD_NODE_PYTHON, "secret/a.py::f", 1, 1, &id));
    OK(fixture_add(trace, 0, FD_NODE_PYTHON, "b/secret/c.py::g", 1, 1, &id));
    OK(fd_trace_strip_prefix(trace, "", 0));
    CHECK(has_text(trace, "secret/a.py"));
    OK(fd_trace_strip_prefix(trace, "secret/", 7));
    CHECK(has_text(trace, "b/secret/c.py"));
    CHECK(has_text(trace, "a.py") && !has_text(trace, "secret/a.py"));
}

RUN(TEST(names_of_the_user_go), TEST(salts_part_and_join),
    TEST(facts_without_names_stay), TEST(prefixes_are_cut))
