#include "fuzz.h"

#include "timeline/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
must(bool held)
{
    if (!held) {
        abort();
    }
}

/* Whatever the inputs were, what was written is whole: a second merge takes it
 * as it is, keeps every event of it, and finds no fault. */
static void
use_merged(uint64_t events)
{
    fd_timeline_input again = {.path = "merged.json"};
    fd_timeline_request request = {.output = "again.json"};
    must(fd_timeline_merge(&request, &again, 1, NULL) == FD_OK);
    must(again.lost == 0 && again.repaired == 0 && again.events >= events);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_timeline_input inputs[] = {{.path = "damaged.json", .rank = 1},
                                  {.path = "whole.json", .rank = 0}};
    fd_timeline_request request = {.output = "merged.json",
                                   .align = size % 2 == 0 ? FD_ALIGN_WALL
                                                          : FD_ALIGN_START};
    fd_error error = {""};
    static const char whole[] = "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1}]}";
    must(fixture_write("damaged.json", data, size) == FD_OK);
    must(fixture_write("whole.json", whole, sizeof whole - 1) == FD_OK);
    fd_status status = fd_timeline_merge(&request, inputs, 2, &error);
    if (status == FD_OK) {
        use_merged(inputs[1].events);
    }
    must(status == FD_OK || status == FD_ECONFLICT);
    return 0;
}

/* Of every kind of event, every number and text, and every place for a fact. */
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
        "],\"traceName\":\"C:\\path\\r1.json\",\"displayTimeUnit\":\"ns\"}");
    return to->status;
}
