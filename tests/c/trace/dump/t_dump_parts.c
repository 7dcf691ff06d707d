#include "check.h"
#include "fixtures.h"

#include "base/budget.h"
#include "trace/dump/dump_parts.h"

static fd_status
opened(fd_dump_parts *parts, const char *text, fd_error *error)
{
    *parts = (fd_dump_parts){.in = {.fd = -1}};
    fd_status status = fixture_write_text("parts.json", text);
    return status == FD_OK ? fd_dump_parts_open(parts, "parts.json", error)
                           : status;
}

static void
usual_bounds(const int *unused)
{
    (void)unused;
    fd_budget_shrink(0);
}

/* With windows of every size: parts lie across their ends. */
static void
parts_in_any_order(void)
{
    static const char text[] =
        "\xEF\xBB\xBF\r\n{\"ranks\" : [ {\"rank\":0} , {\"rank\":[1]} ],\t"
        "\"nodes\":{\"kind\":[7]},\"other\":{\"nodes\":0},"
        "\"version\":1,\"format\":\"f\",\"strings\":[]}\n ";
    CLEAN(usual_bounds) int bounds = 0;
    (void)bounds;
    for (size_t window = 8; window < 200; window += 7) {
        CLEAN(fd_dump_parts_close) fd_dump_parts parts = {.in = {.fd = -1}};
        fd_span found;
        fd_budget_shrink(window);
        OK(opened(&parts, text, NULL));
        CHECK(parts.has_ranks && parts.ranks.count == 2);
        OK(fd_dump_parts_read(&parts, parts.ranks.list[1], &found));
        CHECK(fd_span_is(found, "{\"rank\":[1]}"));
        OK(fd_dump_parts_read(&parts, parts.parts[FD_DUMP_FORMAT], &found));
        CHECK(fd_span_is(found, "\"f\""));
        OK(fd_dump_parts_read(&parts, parts.parts[FD_DUMP_NODES], &found));
        CHECK(fd_span_is(found, "{\"kind\":[7]}"));
        OK(fd_dump_parts_read(&parts, parts.parts[FD_DUMP_MODULES], &found));
        CHECK(found.from == NULL);
    }
}

static void
malformed_documents(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "not valid JSON at byte 0"},
        {"{\"a\":1", "not valid JSON at byte 6"},
        {"{\"a\":1,}", "not valid JSON at byte 7"},
        {"{\"a\" 1}", "not valid JSON at byte 5"},
        {"{\"a\":1 \"b\":2}", "not valid JSON at byte 7"},
        {"{a:1}", "not valid JSON at byte 1"},
        {"{\"ranks\":[1,]}", "not valid JSON at byte 12"},
        {"{\"ranks\":[1 2]}", "not valid JSON at byte 12"},
        {"{\"ranks\":[1", "not valid JSON at byte 11"},
        {"{} x", "not valid JSON at byte 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_dump_parts_close) fd_dump_parts parts = {.in = {.fd = -1}};
        fd_error error = {""};
        STATUS(opened(&parts, cases[i].text, &error), FD_EFORMAT);
        HAS(error.text, cases[i].message);
    }
}

/* A rank is read again after the file was found to be valid. */
static void
file_that_shrinks(void)
{
    CLEAN(fd_dump_parts_close) fd_dump_parts parts = {.in = {.fd = -1}};
    fd_span found;
    OK(opened(&parts, "{\"ranks\":[{\"rank\":0}]}", NULL));
    OK(fixture_write("parts.json", "{\"ranks\":[{\"ra", 14));
    OK(fd_dump_parts_read(&parts, parts.ranks.list[0], &found));
    CHECK(fd_span_size(found) <= 10);
}

RUN(TEST(parts_in_any_order), TEST(malformed_documents),
    TEST(file_that_shrinks))
