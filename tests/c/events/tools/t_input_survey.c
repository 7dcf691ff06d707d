#include "check.h"
#include "fixtures.h"

#include "events/tools/input_survey.h"

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

/* Members before the events are enough if the base is one of them. */
TEST(members_of_a_survey)
{
    static const char *const cases[][2] = {
        {"{\"x\":1,\"rank\":3," EVENTS "}", "rank|3|"},
        {"{" EVENTS ",\"baseTimeNanoseconds\":7,\"distributedInfo\":{}}",
         "baseTimeNanoseconds|7|distributedInfo|{}|"},
        {"{\"baseTimeNanoseconds\":1.5e3," EVENTS ",\"rank\":3}",
         "baseTimeNanoseconds|1.5e3|"},
        {"{\"viztracer_metadata\":{\"baseTimeNanoseconds\":9}," EVENTS
         ",\"rank\":3}",
         "viztracer_metadata|{\"baseTimeNanoseconds\":9}|"},
        {"{\"baseTimeNanoseconds\":-7," EVENTS ",\"rank\":3}",
         "baseTimeNanoseconds|-7|rank|3|"},
        {"[{\"ph\":\"X\"}]", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_timeline_survey_clear) fd_timeline_survey found;
        OK(survey(cases[i][0], false, &found));
        CHECK(found.is_trace);
        for (size_t at = 0; at < found.members.size; at++) {
            char *byte = &found.members.bytes[at];
            *byte = *byte == '\0' ? '|' : *byte;
        }
        fd_buffer_bytes(&found.members, "", 1);
        OK(found.members.status);
        SAME(found.members.bytes, cases[i][1]);
    }
}

TEST(first_event)
{
    fd_timeline_survey found;
    OK(survey("{" EVENTS "}", true, &found));
    CHECK(found.has_first && !found.has_base);
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
