#include "fuzz.h"

#include "et/et_file.h"
#include "et/readers/from_recording.h"
#include "events/stats/timeline_stats.h"
#include "events/tools/timeline_check.h"
#include "events/tools/timeline_merge.h"
#include "pipeline/iteration_plans.h"
#include "recording/operator_log.h"
#include "trace/reader/recording_reader.h"

#include <string.h>

/* An aligned copy of the exact size. */
static char *
copy_of(const uint8_t *data, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, data, size);
    return copy;
}

/* As a timeline and as an execution trace, whose readers open the file
 * themselves. */
static void
use_file(void)
{
    static const char *const outputs[] = {"out.json", "out.pftrace"};
    fd_check check;
    fd_check_request every = {.most_records = 0};
    fd_status status =
        fd_timeline_check_file("damaged.fd", &every, &check, NULL);
    must(status == FD_OK || status == FD_EFORMAT || status == FD_EVERSION);
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        fd_timeline_input input = {.path = "damaged.fd"};
        fd_timeline_request request = {.output = outputs[i],
                                       .align = FD_ALIGN_WALL};
        fd_status merged = fd_timeline_merge(&request, &input, 1, NULL);
        must(merged == FD_OK || merged == FD_EFORMAT);
    }
    fd_stats stats;
    fd_timeline_input file = {.path = "damaged.fd"};
    fd_stats_request request = {.align = FD_ALIGN_AUTO};
    status = fd_timeline_stats(&request, &file, 1, &stats, NULL);
    must(status == FD_OK || status == FD_EFORMAT || status == FD_EINVAL
         || status == FD_EVERSION);
    fd_stats_clear(&stats);
    fd_et et;
    status = fd_et_from_recording(&et, "damaged.fd", NULL);
    must(status == FD_OK || status == FD_EFORMAT || status == FD_EVERSION);
    if (status == FD_OK && fd_et_complete(&et, FD_ET_ALL_KINDS) == FD_OK) {
        fuzz_use_et(&et);
    }
    fd_et_clear(&et);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fd_trace *trace = NULL;
    fd_error error;
    char *copy = copy_of(data, size);
    if (fd_reader_read_memory(&trace, copy, size, true, &error) == FD_OK) {
        must(fd_iterations_compare(trace) == FD_OK);
        fuzz_use(trace);
        must(fixture_write("damaged.fd", data, size) == FD_OK);
        use_file();
    }
    fd_trace_free(trace);
    free(copy);
    return 0;
}
