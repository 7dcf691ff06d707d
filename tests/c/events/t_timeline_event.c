#include "check.h"
#include "spans.h"
#include "timelines.h"

ABSORBS(arguments)
{
    fd_timeline_event event;
    uint64_t number;
    OK(fixture_event("{\"args\":{\"n\":\"12\",\"s\":\"x\"}}", &event));
    CHECK(fd_timeline_argument(&event, "n", &number) && number == 12);
    CHECK(!fd_timeline_argument(&event, "s", &number));
    CHECK(!fd_timeline_argument(&event, "absent", &number));
    CHECK(fd_span_is(fd_timeline_argument_text(&event, "s"), "x"));
    OK(fixture_event("{}", &event));
    CHECK(!fd_timeline_argument(&event, "n", &number));
    CHECK(fd_timeline_text(event.name).from == NULL);
    CHECK(!fd_timeline_named(&event));
}

ABSORBS(intervals)
{
    fd_timeline_event event;
    int64_t begin;
    int64_t end;
    OK(fixture_event("{\"ph\":\"X\",\"ts\":1.5,\"dur\":2}", &event));
    CHECK(fd_timeline_interval(&event, &begin, &end));
    EQUAL(begin, 1500);
    EQUAL(end, 3500);
    event.duration = -1;
    CHECK(!fd_timeline_interval(&event, &begin, &end));
    event.duration = INT64_MAX;
    CHECK(!fd_timeline_interval(&event, &begin, &end));
}

TEST(numbered)
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
