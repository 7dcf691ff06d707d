#include "fuzz.h"
#include "traces.h"

/* An execution trace of Chakra, packet by packet. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_et et;
    must(fixture_write("damaged.et", data, size) == FD_OK);
    fd_status status = traces_read(&et, "damaged.et", FD_ET_ALL_KINDS, NULL);
    must(status == FD_OK || status == FD_EFORMAT);
    if (status == FD_OK) {
        fuzz_use_et(&et);
    }
    fd_et_clear(&et);
    fuzz_shrink(data, size);
    status = traces_read(&et, "damaged.et", FD_ET_ALL_KINDS, NULL);
    fd_budget_shrink(0);
    must(status == FD_OK || status == FD_EFORMAT);
    fd_et_clear(&et);
    return 0;
}

fd_status
fuzz_seed(fd_buffer *to)
{
    fd_et et;
    fd_status status = traces_loaded(&et);
    fd_then(status, fd_et_save(&et, "seed.et", NULL));
    fd_et_clear(&et);
    return status == FD_OK ? fixture_read("seed.et", to) : status;
}
