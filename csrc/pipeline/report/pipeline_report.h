/* All that is found out of the jobs of a pipeline. */
#ifndef FD_PIPELINE_REPORT_H
#define FD_PIPELINE_REPORT_H

#include "pipeline/report/pipeline_critical_path.h"
#include "pipeline/report/pipeline_match.h"
#include "pipeline/report/pipeline_what_if.h"

typedef struct fd_pipe_report {
    fd_pipe pipeline;
    fd_pipe_matches matches;
    uint32_t early; /* received before they were sent */
    fd_pipe_idle idle;
    uint32_t drawn_line; /* of which the path is */
    fd_pipe_path path;
    fd_pipe_schedule schedule;
    fd_pipe_ifs ifs;
} fd_pipe_report;

typedef struct fd_pipe_request {
    fd_pipe_choice choice;
    fd_schedule named; /* what the engine said; FD_SCHEDULES: nothing */
    bool strict;       /* FD_EINVAL where clocks are not one */
    fd_pipe_layers layers;
} fd_pipe_request;

/* The pipeline in it is settled; the rest is made. FD_EINVAL also for
 * iterations that are not there. To be cleared in any case. */
fd_status fd_pipeline_report(fd_pipe_report *report,
                             const fd_pipe_request *request, fd_error *error);
void fd_pipe_report_clear(fd_pipe_report *report);

#endif
