#include "fuzz.h"

#include "events/tools/timeline_merge.h"

static fd_status
merge(const char *from, const char *to, fd_timeline_align align,
      fd_timeline_input *input)
{
    fd_error error = {""};
    fd_timeline_request request = {.output = to, .align = align};
    *input = (fd_timeline_input){.path = from};
    return fd_timeline_merge(&request, input, 1, &error);
}

/* With small bounds on memory. */
static void
use_shrunk(const uint8_t *data, size_t size)
{
    static const char *const outputs[] = {"tiny.json", "tiny.pftrace"};
    fd_timeline_input input;
    fuzz_shrink(data, size);
    for (int i = 0; i < 2; i++) {
        fd_status status =
            merge("damaged.pftrace", outputs[i], FD_ALIGN_WALL, &input);
        must(status == FD_OK || status == FD_EFORMAT);
    }
    fd_budget_shrink(0);
}

/* The output is valid for any input: in both formats, a second merge accepts
 * all of it without a warning. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_timeline_align align = size % 2 == 0 ? FD_ALIGN_WALL : FD_ALIGN_START;
    fd_timeline_input first;
    fd_timeline_input again;
    must(fixture_write("damaged.pftrace", data, size) == FD_OK);
    fd_status status = merge("damaged.pftrace", "out.json", align, &first);
    must(status == FD_OK || status == FD_EFORMAT);
    if (status == FD_OK) {
        must(merge("out.json", "again.json", FD_ALIGN_NONE, &again) == FD_OK);
        must(again.lost == 0 && again.repaired == 0);
        status = merge("out.json", "again.pftrace", FD_ALIGN_NONE, &again);
        must(status == FD_OK);
    }
    status = merge("damaged.pftrace", "out.pftrace", align, &first);
    must(status == FD_OK || status == FD_EFORMAT);
    if (status == FD_OK && first.events > 0) {
        status = merge("out.pftrace", "again.pftrace", FD_ALIGN_NONE, &again);
        must((status == FD_OK && again.lost == 0) || status == FD_EFORMAT);
    }
    use_shrunk(data, size);
    return 0;
}

/* Events of all kinds, from the own writer. */
fd_status
fuzz_seed(fd_buffer *to)
{
    static const char text[] =
        "{\"baseTimeNanoseconds\":1790857026000000000,\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":17,\"args\":{"
        "\"name\":\"python\"}},\n"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":17,\"tid\":4,\"args\":"
        "{\"name\":\"main\"}},\n"
        "{\"ph\":\"X\",\"cat\":\"op\",\"name\":\"add\",\"pid\":17,\"tid\":4,"
        "\"ts\":10,\"dur\":9,\"args\":{\"dims\":[[3,4],[],[null,true]],"
        "\"big\":18446744073709551615,\"x\":-1.5,\"s\":\"t\",\"d\":{}}},\n"
        "{\"ph\":\"X\",\"name\":\"over\",\"pid\":17,\"tid\":4,\"ts\":15,"
        "\"dur\":9},\n"
        "{\"ph\":\"B\",\"name\":\"b\",\"pid\":17,\"tid\":5,\"ts\":11},\n"
        "{\"ph\":\"E\",\"pid\":17,\"tid\":5,\"ts\":12},\n"
        "{\"ph\":\"i\",\"s\":\"p\",\"name\":\"i\",\"pid\":17,\"ts\":12},\n"
        "{\"ph\":\"C\",\"name\":\"c\",\"pid\":17,\"ts\":12,\"args\":{\"n\":1,"
        "\"m\":2.5}},\n"
        "{\"ph\":\"s\",\"id\":5,\"name\":\"f\",\"pid\":17,\"tid\":4,\"ts\":11"
        "},\n"
        "{\"ph\":\"f\",\"id\":5,\"name\":\"f\",\"pid\":17,\"tid\":5,\"ts\":11,"
        "\"bp\":\"e\"},\n"
        "{\"ph\":\"b\",\"id2\":{\"local\":\"0x1\"},\"cat\":\"a\",\"name\":"
        "\"n\",\"pid\":17,\"tid\":4,\"ts\":11},\n"
        "{\"ph\":\"e\",\"id2\":{\"local\":\"0x1\"},\"cat\":\"a\",\"name\":"
        "\"n\",\"pid\":17,\"tid\":4,\"ts\":13}]}";
    fd_timeline_input input;
    fd_status status = fixture_write("seed.json", text, sizeof text - 1);
    if (status == FD_OK) {
        status = merge("seed.json", "seed.pftrace", FD_ALIGN_WALL, &input);
    }
    return status == FD_OK ? fixture_read("seed.pftrace", to) : status;
}
