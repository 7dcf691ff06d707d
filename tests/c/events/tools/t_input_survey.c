#include "check.h"
#include "fixtures.h"

#include "events/tools/input_survey.h"

#include <stdio.h>

static fd_status
survey(const char *text, bool find_first, fd_timeline_survey *found)
{
    const fd_timeline_survey_options options = {.first = find_first};
    fd_status status = fixture_write_text("trace.json", text);
    return status == FD_OK
             ? fd_timeline_survey_read(found, "trace.json", options, NULL)
             : status;
}

#define EVENTS \
    "\"traceEvents\":[{\"ph\":\"M\",\"ts\":0},{\"ph\":\"X\",\"ts\":2.5}," \
    "{\"ph\":\"X\",\"ts\":1.5}]"

TEST(contents_of_a_survey)
{
    static const struct {
        const char *text;
        const char *found; /* rank of world; base */
    } cases[] = {
        {"{" EVENTS "}", "-1 of 0; -1"},
        {"{\"distributedInfo\":{\"rank\":3,\"world_size\":8},"
         "\"baseTimeNanoseconds\":1790857026000000001," EVENTS "}",
         "3 of 8; 1790857026000000001"},
        {"{" EVENTS ",\"baseTimeNanoseconds\":7,\"distributedInfo\":"
         "{\"rank\":3}}",
         "3 of 0; 7"},
        {"{" EVENTS ",\"viztracer_metadata\":{\"baseTimeNanoseconds\":9}}",
         "-1 of 0; 9"},
        /* members before the events are enough with a base */
        {"{\"baseTimeNanoseconds\":7," EVENTS
         ",\"distributedInfo\":{\"rank\":3}}",
         "-1 of 0; 7"},
        {"{\"baseTimeNanoseconds\":-7,\"distributedInfo\":{\"rank\":-1,"
         "\"world_size\":\"8\"}," EVENTS "}",
         "-1 of 8; -1"},
        {"{\"baseTimeNanoseconds\":1.5e+3,\"distributedInfo\":{\"rank\":"
         "\"3\",\"world_size\":8.0}," EVENTS "}",
         "3 of 8; 1500"},
        {"[{\"ph\":\"X\"}]", "-1 of 0; -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_timeline_survey found;
        char text[128];
        OK(survey(cases[i].text, false, &found));
        CHECK(found.is_trace);
        snprintf(text, sizeof text, "%d of %u; %lld",
                 found.has_rank ? (int)found.rank : -1, found.world,
                 found.has_base ? (long long)found.base_ns : -1);
        SAME(text, cases[i].found);
    }
}

TEST(first_event)
{
    fd_timeline_survey found;
    OK(survey("{\"baseTimeNanoseconds\":7," EVENTS "}", true, &found));
    CHECK(found.has_first && found.has_base);
    EQUAL(found.first_ns, 1500);
    OK(survey("[]", true, &found));
    CHECK(!found.has_first);
}

TEST(no_traces)
{
    static const char *const cases[][2] = {
        {"", "empty"},
        {"{\"a\":1}", "no traceEvents in it"},
        {"hello", "not JSON at byte 0"},
        {"[1]", "no event at byte 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_timeline_survey found;
        OK(survey(cases[i][0], false, &found));
        CHECK(!found.is_trace);
        SAME(found.trouble, cases[i][1]);
    }
    fd_timeline_survey found;
    STATUS(fd_timeline_survey_read(&found, "absent",
                                   (fd_timeline_survey_options){.sync = false},
                                   NULL),
           FD_EIO);
}
