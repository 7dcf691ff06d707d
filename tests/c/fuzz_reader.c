#include "fuzz.h"

#include "io/reader.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_trace *trace = NULL;
    fd_error error;
    char *copy = malloc(size > 0 ? size : 1); /* aligned, and ends exactly */
    memcpy(copy, data, size);
    if (fd_reader_read_memory(&trace, copy, size, false, &error) == FD_OK) {
        fuzz_use(trace);
    }
    fd_trace_free(trace);
    free(copy);
    return 0;
}

fd_status
fuzz_seed(fd_buffer *to)
{
    fd_status status = fixture_recorded("seed.fd", 0, "run");
    return status == FD_OK ? fixture_read("seed.fd", to) : status;
}
