#include "check.h"
#include "spans.h"

#include "events/tools/merged_members.h"

static void
keep(fd_merged_members *members, fd_timeline_input *input, bool *any,
     const char *key, const char *value)
{
    fd_span text = span(value);
    fd_scan scan = {.at = text.from, .end = text.to};
    fd_merged_members_keep(members, input, any, span(key), text, &scan);
}

/* The rows of ranks of an input that is a merge are kept, except an empty
 * table; other inputs get a row. */
TEST(rows_of_ranks)
{
    static const char *const tables[] = {"[ {\"rank\":1}, {\"rank\":2}]",
                                         "[ ]", "{}"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        CLEAN(fd_merged_members_clear)
        fd_merged_members members = {.unit = ""};
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        fd_timeline_input input = {
            .path = "a.json", .program = "", .merged = 2};
        const fd_timeline_request request = {.has_base = true, .base_ns = 7};
        bool any = false;
        keep(&members, &input, &any, "ranks", tables[i]);
        keep(&members, &input, &any, "displayTimeUnit", "\"ns\"");
        fd_merged_members_put(&members, &request, &input, 1, &to);
        fd_buffer_bytes(&to, "", 1);
        OK(to.status);
        EQUAL(input.has_ranks, i == 0);
        HAS(to.bytes, i == 0 ? "\"ranks\":[ {\"rank\":1}, "
                               "{\"rank\":2}\n],"
                             : "\"file\":\"a.json\"");
        HAS(to.bytes, "\"displayTimeUnit\":\"ns\"");
        HAS(to.bytes, "\"baseTimeNanoseconds\":7");
    }
}
