#include "fuzz.h"
#include "traces.h"

/* With an execution trace, of whose operators it may have the times. */
static void
use_linked(bool uses)
{
    fd_et et;
    fd_status status = traces_link(&et, "whole.json", "damaged.json", NULL);
    must(status == FD_OK || status == FD_EFORMAT || status == FD_EINVAL);
    if (status == FD_OK && uses) {
        fuzz_use_et(&et);
    }
    fd_et_clear(&et);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool written;
    fd_buffer whole = {.bytes = NULL};
    if (!written) {
        traces_small(&whole);
        must(fixture_write("whole.json", whole.bytes, whole.size) == FD_OK);
        fd_buffer_clear(&whole);
        written = true;
    }
    must(fixture_write("damaged.json", data, size) == FD_OK);
    use_linked(true);
    fuzz_shrink(data, size);
    use_linked(false);
    fd_budget_shrink(0);
    return 0;
}

/* Operators of the linked trace, launches, kernels on two streams, copies,
 * waits, and communication. */
fd_status
fuzz_seed(fd_buffer *to)
{
    fd_buffer_text(
        to,
        "{\"distributedInfo\":{\"rank\":0,\"world_size\":2,\"pg_config\":[{"
        "\"pg_name\":\"0\",\"ranks\":[0,1]}]},\"traceEvents\":[\n"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
        "\"ProfilerStep#1\",\"pid\":9,\"tid\":5,\"ts\":1,\"dur\":90},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::linear\","
        "\"pid\":9,\"tid\":5,\"ts\":10,\"dur\":20.5,\"args\":{\"Record "
        "function id\":104,\"External id\":1,\"Sequence number\":3,"
        "\"Fwd thread id\":0}},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::addmm\","
        "\"pid\":9,\"tid\":5,\"ts\":11,\"dur\":9,\"args\":{\"Record "
        "function id\":105,\"External id\":2}},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::relu_\","
        "\"pid\":9,\"tid\":5,\"ts\":40,\"dur\":20,\"args\":{\"Record "
        "function id\":106}},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
        "\"cudaLaunchKernel\",\"pid\":9,\"tid\":5,\"ts\":12,\"dur\":2,"
        "\"args\":{\"correlation\":1,\"External id\":2}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
        "\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":"
        "4,\"args\":{\"stream\":7,\"correlation\":1,\"dtype\":\"Float\","
        "\"In msg nelems\":9,\"Process Group Name\":\"0\"}},\n"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD\","
        "\"pid\":0,\"tid\":8,\"ts\":25,\"dur\":3,\"args\":{\"stream\":8,"
        "\"External id\":2,\"bytes\":64}},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
        "\"cudaStreamSynchronize\",\"pid\":9,\"tid\":5,\"ts\":30,\"dur\":2,"
        "\"args\":{\"correlation\":2}},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait "
        "Event\",\"pid\":0,\"tid\":7,\"ts\":30,\"args\":{\"stream\":7,"
        "\"correlation\":0,\"wait_on_stream\":8,"
        "\"wait_on_cuda_event_record_corr_id\":1}},\n"
        "{\"ph\":\"s\",\"id\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\","
        "\"pid\":9,\"tid\":5,\"ts\":12},{\"ph\":\"f\",\"bp\":\"e\","
        "\"id\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,"
        "\"ts\":20}]}");
    return to->status;
}
