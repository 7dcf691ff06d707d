#include "fuzz.h"

#include "io/reader.h"

#include <stdlib.h>
#include <string.h>

/* Aligned, and ends exactly. */
static char *
copy_of(const uint8_t *data, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, data, size);
    return copy;
}

/* The same bytes serve as the side file, whose id is right then. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_trace *trace = NULL;
    fd_error error;
    char *copy = copy_of(data, size);
    char *spill = copy_of(data, size);
    memcpy(spill, FD_SPILL_MAGIC, size < 8 ? size : 8);
    if (fd_reader_read_memories(&trace, (fd_memory){copy, size},
                                (fd_memory){spill, size}, true, &error)
        == FD_OK) {
        fuzz_use(trace);
    }
    fd_trace_free(trace);
    free(copy);
    free(spill);
    return 0;
}

fd_status
fuzz_seed(fd_buffer *to)
{
    fixture f;
    fd_timeline timeline = {.on = true, .max_bytes = 1 << 20};
    fd_status status = fixture_open_timeline(&f, &timeline);
    if (status == FD_OK) {
        status = fixture_train(&f, 0);
    }
    if (status == FD_OK) {
        fixture_stop(&f);
        fd_buffer_bytes(to, f.recording->file.base, fixture_bytes(&f));
        status = to->status;
    }
    fixture_clear(&f);
    return status;
}
