/* The report of the jobs of a pipeline, with all results. */
#ifndef FD_PIPELINE_REPORT_H
#define FD_PIPELINE_REPORT_H

#include "pipeline/report/pipeline_critical_path.h"
#include "pipeline/report/pipeline_match.h"
#include "pipeline/report/pipeline_what_if.h"

typedef struct fd_pipe_report {
    fd_pipe pipeline;
    fd_pipe_matches matches;
    uint32_t early; /* number of transfers received before they were sent */
    fd_pipe_idle idle;
    uint32_t drawn_line; /* the line of the critical path */
    fd_pipe_path path;
    fd_pipe_schedule schedule;
    fd_pipe_ifs ifs;
} fd_pipe_report;

typedef struct fd_pipe_request {
    fd_pipe_choice choice;
    fd_schedule named; /* from the engine; FD_SCHEDULES: unknown */
    bool strict;       /* fail with FD_EINVAL without a common clock */
    fd_pipe_layers layers;
} fd_pipe_request;

/* Compute the report from its settled pipeline. FD_EINVAL also for unknown
 * iterations. Clear it also after a failure. */
fd_status fd_pipeline_report(fd_pipe_report *report,
                             const fd_pipe_request *request, fd_error *error);
void fd_pipe_report_clear(fd_pipe_report *report);

#endif
