#include "check.h"
#include "fixtures.h"

#include "trace/canonical_order.h"
#include "trace/dump_writer.h"

#include <cjson/cJSON.h>
#include <locale.h>
#include <string.h>

static void
json_free(cJSON **document)
{
    cJSON_Delete(*document);
}

static fd_status
with_values(fd_trace **trace, uint64_t self, double squares)
{
    uint32_t id;
    *trace = fd_trace_new();
    fd_status status = *trace == NULL
                         ? FD_ENOMEM
                         : fixture_add(*trace, 0, FD_NODE_OP, "a\"\\\n<b>\x7f",
                                       1, self, &id);
    if (status == FD_OK) {
        (*trace)->ranks.list[0].figures.list[0].self_squares = squares;
        status = fd_trace_sort(*trace);
    }
    return status;
}

TEST(large_numbers_are_strings)
{
    static const struct {
        uint64_t self;
        const char *text;
    } cases[] = {
        {9007199254740992, "\"self\":[9007199254740992]"},
        {9007199254740993, "\"self\":[\"9007199254740993\"]"},
        {UINT64_MAX, "\"self\":[\"18446744073709551615\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fixture_trace_free) fd_trace *trace = NULL;
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        OK(with_values(&trace, cases[i].self, 0));
        OK(fixture_dump(trace, &text));
        HAS(text.bytes, cases[i].text);
        HAS(text.bytes, "a\\\"\\\\\\n<b>\\u007f");
    }
}

/* Doubles have all digits, and a point in any locale. */
TEST(doubles)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer plain = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer foreign = {.bytes = NULL};
    OK(with_values(&trace, 1, 0.1));
    OK(fixture_dump(trace, &plain));
    HAS(plain.bytes, "\"self_squares\":[0.10000000000000001]");
    setlocale(LC_NUMERIC, "de_DE.UTF-8");
    fd_status status = fixture_dump(trace, &foreign);
    setlocale(LC_NUMERIC, "C");
    OK(status);
    SAME(foreign.bytes, plain.bytes);
}

/* A fact that is not JSON is written as a string, so the document stays valid.
 * */
TEST(facts_without_valid_json)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(with_values(&trace, 1, 0));
    OK(fixture_fact(trace, &trace->ranks.list[0], "key", "{\"half"));
    OK(fixture_dump(trace, &text));
    HAS(text.bytes, "\"key\":\"{\\\"half\"");
    CLEAN(json_free) cJSON *document = cJSON_Parse(text.bytes);
    CHECK(document != NULL);
}

TEST(empty_trace)
{
    NEW_TRACE(trace);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(fd_trace_sort(trace));
    OK(fixture_dump(trace, &text));
    HAS(text.bytes, "\"ranks\":[\n]}");
}

TEST(absent_folder)
{
    TRAINED_TRACE(trace, 0, "run");
    fd_error error = {""};
    STATUS(fd_dump_save(trace, "absent/saved.json", &error), FD_EIO);
}
