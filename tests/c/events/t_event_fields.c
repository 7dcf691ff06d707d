#include "check.h"

#include "events/event_fields.h"

#include <string.h>

static void
read_text(const char *text, fd_timeline_facts *facts)
{
    fd_timeline_event event = {.whole = {text, text + strlen(text)}};
    fd_timeline_facts_read(facts, &event);
}

static fd_span
span(const char *text)
{
    return (fd_span){text, text + strlen(text)};
}

static void
all_keys(void)
{
    fd_timeline_facts f;
    read_text("{\"ph\":\"X\",\"name\":\"a\\\"b\",\"cat\":\"op\",\"pid\":1,"
              "\"tid\":\"2\","
              "\"ts\":1.5009,\"dur\":\"2\",\"id\":7,\"args\":{\"n\":\"12\","
              "\"s\":\"x\"},"
              "\"bp\":\"e\",\"other\":3}",
              &f);
    CHECK(f.phase == 'X' && f.named && !f.local && !f.to_next);
    CHECK(fd_span_is(f.name, "a\\\"b") && fd_span_is(f.cat, "op"));
    CHECK(fd_span_is(f.pid, "1") && fd_span_is(f.tid, "\"2\""));
    CHECK(fd_span_is(f.id, "7") && f.has_start && f.has_duration);
    EQUAL(f.start, 1500);
    EQUAL(f.duration, 2000);
    uint64_t number;
    CHECK(fd_timeline_argument(&f, "n", &number) && number == 12);
    CHECK(!fd_timeline_argument(&f, "s", &number));
    CHECK(!fd_timeline_argument(&f, "absent", &number));
}

static void
few_keys(void)
{
    fd_timeline_facts f;
    uint64_t number;
    read_text("{}", &f);
    CHECK(f.phase == 0 && f.name.from == NULL && !f.has_start && f.to_next);
    CHECK(!fd_timeline_argument(&f, "n", &number));
    read_text("{\"ph\":\"be\",\"name\":5,\"ts\":NaN,\"dur\":[],\"ts\":2}", &f);
    CHECK(f.phase == 0 && !f.named && f.has_start && !f.has_duration);
    EQUAL(f.start, 2000); /* the last one of a key */
    read_text("{\"id2\":{\"local\":\"0x1\"}}", &f);
    CHECK(f.local && fd_span_is(f.id, "\"0x1\""));
    read_text("{\"id2\":{\"global\":3}}", &f);
    CHECK(!f.local && fd_span_is(f.id, "3"));
}

static void
numbered(void)
{
    uint64_t number;
    CHECK(fd_span_numbered(span("rank 12"), "rank ", " ", &number));
    EQUAL(number, 12);
    CHECK(fd_span_numbered(span("rank 3 | a"), "rank ", " ", &number));
    EQUAL(number, 3);
    CHECK(!fd_span_numbered(span("rank 3x"), "rank ", " ", &number));
    CHECK(!fd_span_numbered(span("rank "), "rank ", " ", &number));
    CHECK(!fd_span_numbered(span("rank x"), "rank ", " ", &number));
    CHECK(!fd_span_numbered(span("ran"), "rank ", " ", &number));
    CHECK(!fd_span_numbered(span("rank 99999999999999999999"), "rank ", "",
                            &number));
}

RUN(TEST(all_keys), TEST(few_keys), TEST(numbered))
