#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_trace *trace = NULL;
    fd_error error;
    if (fixture_load(&trace, data, size, &error) == FD_OK) {
        fuzz_use(trace);
    }
    fd_trace_free(trace);
    return 0;
}

fd_status
fuzz_seed(fd_buffer *to)
{
    fd_trace *trace = NULL;
    fd_status status = fixture_trace(&trace, 0, "run");
    if (status == FD_OK) {
        status = fixture_dump(trace, to);
    }
    fd_trace_free(trace);
    return status;
}
