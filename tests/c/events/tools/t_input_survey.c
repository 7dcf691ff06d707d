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

static bool
keep_texts(void *context, const fd_event_row *rows, uint32_t count,
           const fd_text_pool *texts)
{
    fd_buffer *to = context;
    for (uint32_t i = 0; i < count; i++) {
        fd_buffer_format(to, "%llu %s %s %llu|",
                         (unsigned long long)rows[i].event,
                         fd_text_pool_get(texts, rows[i].name),
                         fd_text_pool_get(texts, rows[i].type),
                         (unsigned long long)rows[i].number);
    }
    return true;
}

/* Other begins and ends are passed on after a begin that matters. */
TEST(events_that_may_matter)
{
    CLEAN(fd_buffer_clear) fd_buffer texts = {.bytes = NULL};
    CLEAN(fd_timeline_survey_clear) fd_timeline_survey found;
    bool any = true;
    const fd_timeline_survey_options options = {
        .take = keep_texts, .context = &texts, .found = &any};
    OK(fixture_write_text(
        "trace.json",
        "[{\"ph\":\"B\",\"name\":\"other\",\"ts\":1},"
        "{\"ph\":\"X\",\"name\":\"ncclDevKernel\",\"ts\":1,\"dur\":1,\"args\":"
        "{\"Seq\":7,\"x\":1,\"peer\":2,\"Input Dims\":[[3]]}},"
        "{\"ph\":\"B\",\"name\":\"gloo:recv\",\"ts\":2},"
        "{\"ph\":\"E\",\"ts\":3},{\"ph\":\"i\",\"name\":\"send\",\"ts\":4}]"));
    OK(fd_timeline_survey_read(&found, "trace.json", options, NULL));
    fd_buffer_bytes(&texts, "", 1);
    OK(texts.status);
    SAME(texts.bytes, "2 ncclDevKernel {\"Input Dims\":[[3]],\"peer\":2} 7|"
                      "3 gloo:recv  0|4   0|");
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
                                   (fd_timeline_survey_options){.take = NULL},
                                   NULL),
           FD_EIO);
}
