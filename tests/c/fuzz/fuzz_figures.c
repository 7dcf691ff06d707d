#include "fuzz.h"
#include "timelines.h"

#include "events/tools/timeline_merge.h"

/* A part is valid JSON. */
static void
use_part(const char *kept, size_t size)
{
    uint64_t faults;
    fd_timeline_input input = FILE_INPUT("damaged.json", 0);
    fd_timeline_request request = {.output = "part.json"};
    input.kept = kept;
    input.kept_bytes = size;
    fd_status status = fd_timeline_merge(&request, &input, 1, NULL);
    must(status == FD_OK || status == FD_EFORMAT);
    if (status == FD_OK) {
        must(fuzz_events("part.json", &faults) == FD_OK);
        must(faults == 0);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t faults;
    must(fixture_write("damaged.json", data, size) == FD_OK);
    fuzz_events("damaged.json", &faults);
    use_part((const char *)data, size);
    fuzz_shrink(data, size);
    fuzz_events("damaged.json", &faults);
    fd_budget_shrink(0);
    return 0;
}

/* Slices and pairs of all kinds. */
fd_status
fuzz_seed(fd_buffer *to)
{
    fd_buffer_text(
        to,
        "{\"baseTimeNanoseconds\": 1790857026000000000,\"traceEvents\": [\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":17,\"args\":"
        "{\"name\":\"rank 3 | a\"}},\n"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
        "\"ProfilerStep#2\",\"pid\":17,\"tid\":1,\"ts\":1,\"dur\":20},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":17,"
        "\"tid\":1,\"ts\":2.5,\"dur\":1.5},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c10d::barrier\",\"pid\":"
        "17,\"tid\":1,\"ts\":3,\"dur\":1,\"args\":{\"Input Dims\":[[1]],"
        "\"Process Group Name\":\"0\"}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel\",\"pid\":"
        "0,\"tid\":7,\"ts\":4,\"dur\":9},\n"
        "{\"ph\":\"B\",\"cat\":\"job\",\"name\":\"forward_1 (2 ms)\",\"pid\":"
        "17,\"tid\":2,\"ts\":5,\"args\":{\"step\":2,\"stage\":1}},\n"
        "{\"ph\":\"E\",\"pid\":17,\"tid\":2,\"ts\":9},\n"
        "{\"ph\":\"s\",\"id\":5,\"name\":\"f\",\"pid\":17,\"tid\":1,\"ts\":3},"
        "\n{\"ph\":\"f\",\"id\":5,\"name\":\"f\",\"pid\":17,\"tid\":2,\"ts\":"
        "6,\"bp\":\"e\"},\n"
        "{\"ph\":\"b\",\"id2\":{\"local\":\"0x1\"},\"name\":\"gloo:x\","
        "\"pid\":17,\"ts\":1},\n"
        "{\"ph\":\"e\",\"id2\":{\"local\":\"0x1\"},\"pid\":17,\"ts\":8},\n"
        "{\"ph\":\"C\",\"name\":\"n\",\"pid\":17,\"ts\":3,\"args\":{\"n\":1}}"
        "\n],\"ranks\":[{\"rank\":3,\"lost\":1,\"align\":\"wall\","
        "\"offset_ns\":0}]}");
    return to->status;
}
