#include "events/recorded/pipeline_aligned.h"

#include "events/recorded/recording_inputs.h"

static fd_status
take_clocks(fd_pipe_known *known, const fd_trace *trace, fd_error *error)
{
    uint32_t count = trace->ranks.count;
    int64_t base;
    fd_export_clock *clocks = fd_calloc((size_t)count + 1, sizeof *clocks);
    if (clocks == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = fd_timeline_align_trace(trace, FD_ALIGN_AUTO, false,
                                               clocks, &base, error);
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        known[i].clock = clocks[i].map;
        known[i].unsure = clocks[i].uncertainty_ns;
    }
    fd_free(clocks);
    return status;
}

fd_status
fd_timeline_pipeline(fd_pipe_report *report, const fd_trace *trace,
                     fd_pipe_known *known, const fd_pipe_request *request,
                     fd_error *error)
{
    fd_status status =
        trace->ranks.count == 0 ? FD_OK : take_clocks(known, trace, error);
    if (status == FD_OK) {
        status = fd_pipe_read(&report->pipeline, trace, known);
    }
    return status == FD_OK ? fd_pipeline_report(report, request, error)
                           : status;
}
