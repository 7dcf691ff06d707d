#include "fuzz.h"

#include "events/tools/input_survey.h"
#include "events/tools/timeline_merge.h"
#include "timelines.h"

#include <string.h>

/* Read all bytes of the rows. */
static bool
take_moments(void *context, const fd_event_row *rows, uint32_t count,
             const fd_text_pool *texts)
{
    bool *found = context;
    for (uint32_t i = 0; i < count; i++) {
        must(rows[i].event > 0 && rows[i].name < texts->texts.count
             && rows[i].type < texts->texts.count);
    }
    *found = count > 1;
    return true;
}

/* Survey a file as Python does; return whether it is a trace. */
static bool
is_trace(fd_timeline_input *input, bool moments, bool first)
{
    fd_timeline_survey survey;
    bool found = false;
    fd_timeline_survey_options options = {first, moments ? take_moments : NULL,
                                          &found, &found};
    must(fd_timeline_survey_read(&survey, input->path, options, NULL)
         == FD_OK);
    bool known = survey.is_trace;
    if (first && survey.has_first && survey.first_ns > INT64_MIN) {
        input->clock.map.offset_ns = -survey.first_ns;
    }
    const fd_buffer *members = &survey.members;
    input->merged =
        members->size > 0
        && memmem(members->bytes, members->size, "mergedFiles", 11) != NULL;
    fd_timeline_survey_clear(&survey);
    return known;
}

/* The output is valid for any input: a second merge accepts it unchanged, with
 * all its events, without a warning. */
static void
use_merged(uint64_t events)
{
    fd_timeline_input again = FILE_INPUT("merged.json", 0);
    fd_timeline_request request = {.output = "again.json"};
    must(is_trace(&again, true, false));
    must(fd_timeline_merge(&request, &again, 1, NULL) == FD_OK);
    must(again.lost == 0 && again.repaired == 0 && again.events >= events);
}

/* Merge a whole trace and the damaged one, if that is still a trace. */
static fd_status
merge_both(fd_timeline_request request, bool moments, bool first,
           uint64_t *events)
{
    fd_timeline_input inputs[] = {FILE_INPUT("whole.json", 0),
                                  FILE_INPUT("damaged.json", 1)};
    must(is_trace(&inputs[0], moments, first));
    uint32_t count = is_trace(&inputs[1], moments, first) ? 2 : 1;
    fd_status status = fd_timeline_merge(&request, inputs, count, NULL);
    *events = inputs[0].events;
    return status;
}

/* With small bounds on memory, in all three formats. */
static void
use_shrunk(const uint8_t *data, size_t size)
{
    static const char *const outputs[] = {"tiny.json", "tiny.pftrace"};
    uint64_t events;
    fuzz_shrink(data, size);
    for (int i = 0; i < 3; i++) {
        fd_timeline_request request = {.output = outputs[i / 2],
                                       .sorted = i == 1};
        fd_status status = merge_both(request, true, false, &events);
        must(status == FD_OK || status == FD_EFORMAT);
    }
    fd_budget_shrink(0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_timeline_request request = {.output = "merged.json",
                                   .named_durations = size % 7 == 0};
    uint64_t events;
    static const char whole[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":"
        "\"ProfilerStep#1\"}]}";
    must(fixture_write("damaged.json", data, size) == FD_OK);
    must(fixture_write("whole.json", whole, sizeof whole - 1) == FD_OK);
    must(merge_both(request, false, size % 2 != 0, &events) == FD_OK);
    use_merged(events);
    use_shrunk(data, size);
    return 0;
}

/* Events of all kinds, with all kinds of numbers, texts and facts. */
fd_status
fuzz_seed(fd_buffer *to)
{
    fd_buffer_text(
        to,
        "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 1, "
        "\"world_size\": 2},\r\n\"baseTimeNanoseconds\": 1790857026000000000,"
        "\n\"traceEvents\": [\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":17,\"tid\":0,"
        "\"args\":{\"name\":\"python \\u00e9\"}},\n"
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":17,\"args\":"
        "{\"sort_index\":-3}},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":17,"
        "\"tid\":4711,\"ts\":4445637158315.196,\"dur\":1.5,\"args\":{\"dims\":"
        "[[3,4],[],[null,true,false]],\"big\":9007199254740993,\"x\":NaN}},\n"
        "{\"ph\":\"s\",\"id\":5,\"pid\":17,\"tid\":4711,\"ts\":1e3},\n"
        "{\"ph\":\"f\",\"id\":\"0x5\",\"pid\":17,\"tid\":4711,\"ts\":\"2.5\","
        "\"bp\":\"e\"},\n"
        "{\"ph\":\"b\",\"id2\":{\"local\":\"0x1\"},\"pid\":\"Spans\",\"tid\":"
        "\"a \\\"thread\\\"\",\"ts\":-1.5,\"name\":\"\\ud800\\u0000\\\\\"},\n"
        "{\"ph\":\"X\",\"bind_id\":18446744073709551615,\"ts\":0,\"tid\":-1},"
        "\n{\"ph\":\"C\",\"pid\":\"\",\"ts\":3,\"args\":{\"n\":-Infinity}}\n"
        ",{\"ph\":\"X\",\"name\":\"ProfilerStep#2\",\"ts\":1,\"dur\":5},\n"
        "{\"ph\":\"B\",\"name\":\"b\",\"ts\":2},{\"ph\":\"E\",\"ts\":3},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"args\":{\"device\":1}}\n"
        "],\"traceName\":\"C:\\path\\r1.json\","
        "\"displayTimeUnit\":\"ns\"}");
    return to->status;
}
