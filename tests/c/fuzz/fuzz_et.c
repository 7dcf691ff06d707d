#include "fuzz.h"
#include "traces.h"

#include "et/et_file.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_et et;
    must(fixture_write("damaged", data, size) == FD_OK);
    fd_status status = traces_read(&et, "damaged", FD_ET_ALL_KINDS, NULL);
    must(status == FD_OK || status == FD_EFORMAT);
    if (status == FD_OK) {
        fuzz_use_et(&et);
    }
    fd_et_clear(&et);
    status = traces_link(&et, "damaged", "damaged", NULL);
    must(status == FD_OK || status == FD_EFORMAT || status == FD_EINVAL);
    if (status == FD_OK) {
        fuzz_use_et(&et);
    }
    fd_et_clear(&et);
    fuzz_shrink(data, size);
    status = traces_read(&et, "damaged", FD_ET_ALL_KINDS, NULL);
    fd_budget_shrink(0);
    must(status == FD_OK || status == FD_EFORMAT);
    fd_et_clear(&et);
    return 0;
}

/* Both kinds of files in one: nodes, and events with their numbers. */
fd_status
fuzz_seed(fd_buffer *to)
{
    traces_small(to);
    while (to->size > 0 && to->bytes[to->size - 1] != '}') {
        to->size--;
    }
    to->size -= to->size > 0;
    fd_buffer_text(
        to,
        ",\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":"
        "\"aten::linear\",\"tid\":5,\"ts\":10,\"dur\":20.5,\"args\":{\"Record "
        "function id\":104,\"External "
        "id\":1}},{\"ph\":\"X\",\"cat\":\"cpu_op\""
        ",\"name\":\"aten::relu_\",\"tid\":5,\"ts\":40,\"dur\":20,\"args\":"
        "{\"Record function id\":106}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\","
        "\"name\":\"cudaLaunchKernel\",\"tid\":5,\"ts\":12,\"dur\":2,\"args\":"
        "{\"correlation\":1}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
        "\"ncclDevKernel_AllReduce\",\"ts\":20,\"dur\":4,\"args\":{\"stream\":"
        "7,\"correlation\":1,\"dtype\":\"Float\",\"In msg nelems\":9,\"Process"
        " Group "
        "Name\":\"0\"}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
        "\"cudaStreamSynchronize\",\"tid\":5,\"ts\":30,\"dur\":2,\"args\":"
        "{\"correlation\":2}},{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":"
        "\"Stream Wait "
        "Event\",\"ts\":30,\"args\":{\"stream\":7,\"correlation\""
        ":0,\"wait_on_stream\":8,"
        "\"wait_on_cuda_event_record_corr_id\":1}}]}");
    return to->status;
}
