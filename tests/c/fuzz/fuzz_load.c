#include "fuzz.h"

#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

/* Merge with another rank, and with itself, which is refused if it has
 * ranks. */
static void
merge(const fd_trace *trace)
{
    fd_trace *both = fd_trace_new();
    fd_trace *other = NULL;
    must(both != NULL && fixture_trace(&other, 5, NULL) == FD_OK);
    must(fixture_merge(both, other, "other", NULL) == FD_OK);
    fd_status status = fixture_merge(both, trace, "this", NULL);
    must(status == FD_OK || status == FD_ECONFLICT);
    if (status == FD_OK) {
        must(fd_trace_sort(both) == FD_OK);
        must(fixture_sound(both));
        status = fixture_merge(both, trace, "again", NULL);
        must(status == FD_ECONFLICT || trace->ranks.count == 0);
    }
    fd_trace_free(other);
    fd_trace_free(both);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_trace *trace = NULL;
    fd_error error;
    if (fixture_load(&trace, data, size, &error) == FD_OK) {
        fuzz_use(trace);
        merge(trace);
    }
    fd_trace_free(trace);
    return 0;
}

fd_status
fuzz_seed(fd_buffer *to)
{
    fd_trace *trace = NULL;
    fd_status status = fixture_trace(&trace, 0, "run");
    fd_then(status, fixture_dump(trace, to));
    fd_trace_free(trace);
    return status;
}
