#include "check.h"
#include "timelines.h"

#include "events/readers/chrome_scan.h"

ABSORBS(all_keys)
{
    fd_timeline_event e;
    OK(fixture_event(
        "{\"ph\":\"X\",\"name\":\"a\\\"b\",\"cat\":\"op\",\"pid\":1,"
        "\"tid\":\"2\",\"ts\":1.5009,\"dur\":\"2\",\"id\":7,"
        "\"args\":{\"n\":1},\"bp\":\"e\",\"s\":\"g\",\"bind_id\":\"0x4\","
        "\"flow_in\":true,\"flow_out\":true}",
        &e));
    CHECK(e.phase == 'X' && e.scope == 'g' && e.encloses && e.flow_in
          && e.flow_out);
    CHECK(fd_span_is(e.name, "\"a\\\"b\"") && fd_span_is(e.cat, "\"op\""));
    CHECK(fd_span_is(e.pid, "1") && fd_span_is(e.tid, "\"2\""));
    CHECK(fd_span_is(e.id, "7") && fd_span_is(e.bind_id, "\"0x4\""));
    CHECK(fd_span_is(e.args, "{\"n\":1}") && fd_timeline_named(&e));
    CHECK(e.has_start && e.has_duration && !e.exact);
    FIELDS(&e, (start, 1500), (duration, 2000));
}

ABSORBS(few_keys)
{
    fd_timeline_event e;
    OK(fixture_event("{}", &e));
    CHECK(e.phase == 0 && e.name.from == NULL && !e.has_start && !e.encloses);
    OK(fixture_event("{\"ph\":\"be\",\"name\":5,\"dur\":[],\"ts\":1,"
                     "\"ts\":2}",
                     &e));
    CHECK(e.phase == 0 && !fd_timeline_named(&e) && !e.has_duration);
    CHECK(e.has_start && e.exact);
    EQUAL(e.start, 2000); /* the last one of a key */
    OK(fixture_event("{\"id2\":{\"local\":\"0x1\"}}", &e));
    CHECK(fd_span_is(e.local_id, "\"0x1\""));
    CHECK(fd_span_is(fd_timeline_id(&e), "\"0x1\""));
    OK(fixture_event("{\"id\":1,\"id2\":{\"global\":3}}", &e));
    CHECK(fd_span_is(fd_timeline_id(&e), "3"));
}

TEST(times)
{
    static const struct {
        const char *text;
        int64_t ns;
        bool exact;
    } cases[] = {
        {"{\"ts\":0}", 0, true},
        {"{\"ts\":\"12.25\"}", 12250, true},
        {"{\"ts\":123456789012345.678}", 123456789012345678, true},
        {"{\"ts\":1234567890123456}", 1234567890123456000, false},
        {"{\"ts\":-1}", -1000, false},
        {"{\"ts\":1.0009}", 1000, false},
        {"{\"ts\":1e3}", 1000000, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_timeline_event e;
        OK(fixture_event(cases[i].text, &e));
        CHECK(e.has_start && e.exact == cases[i].exact);
        EQUAL(e.start, cases[i].ns);
    }
}

/* Members without a field of their own stay together. */
TEST(other_members)
{
    static const char text[] = "{\"sf\":1,\"ph\":\"XY\", \"x\" : [1, 2],"
                               "\"name\":\"n\",\"bp\":\"x\"}";
    CLEAN(fd_buffer_clear) fd_buffer rest = {.bytes = NULL};
    CLEAN(fd_scan_clear) fd_scan scan = {.at = NULL};
    fd_timeline_event e;
    fd_scan_begin(&scan, text, text + sizeof text - 1);
    fd_scan_result result = fd_chrome_scan(&scan, &e, &rest);
    STATUS(result == FD_SCAN_ENOMEM ? FD_ENOMEM : FD_OK, FD_OK);
    CHECK(result == FD_SCAN_OK);
    CHECK(fd_span_is(e.rest, ",\"sf\":1,\"ph\":\"XY\",\"x\" : [1, 2],"
                             "\"bp\":\"x\""));
}

ABSORBS(no_event)
{
    fd_timeline_event e;
    STATUS(fixture_event("[1]", &e), FD_EINVAL);
    STATUS(fixture_event("{\"a\":1", &e), FD_EINVAL);
}
