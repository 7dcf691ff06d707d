/* Recorded pipelines for tests: simulated plans, with their jobs as recorded
 * by ranks. */
#ifndef PIPELINES_H
#define PIPELINES_H

#include "check.h"

#include "pipeline/report/pipeline_report.h"

/* Durations in ms of the jobs of global stage g: F = forward[g] or 10,
 * B = backward[g] or 2 F, I and W half of that. */
typedef struct pipeline_spec {
    const char *schedule;
    uint32_t stages;
    uint32_t micro_batches;
    const int64_t *forward;
    int64_t transfer;    /* if not 0, blocking, unless `posts` */
    bool posts;          /* sends are asynchronous, only receivers wait */
    bool moves;          /* transfers are jobs */
    uint32_t iterations; /* 0: 1 */
    uint32_t lines;      /* 0: 1 */
    const int64_t *skew; /* by stage, ns */
    int32_t absent;      /* a stage without recording, plus 1 */
} pipeline_spec;

enum { PIPELINE_UNIT = 1000000 };

/* The pipeline, before it is settled. */
fd_status pipeline_simulated(fd_pipe *p, const pipeline_spec *spec);

/* The report of the settled pipeline. */
fd_status pipeline_reported(fd_pipe_report *report, const pipeline_spec *spec,
                            fd_schedule named);

/* Declare the report of such a pipeline, which the end of the test clears. */
#define REPORTED(report, ...) \
    CLEAN(fd_pipe_report_clear) fd_pipe_report report = {.drawn_line = 0}; \
    OK(pipeline_reported(&report, &(pipeline_spec){__VA_ARGS__}, FD_SCHEDULES))

/* Declare a report whose pipeline is simulated, and not settled. */
#define SIMULATED(report, ...) \
    CLEAN(fd_pipe_report_clear) fd_pipe_report report = {.drawn_line = 0}; \
    OK(pipeline_simulated(&report.pipeline, &(pipeline_spec){__VA_ARGS__}))

/* Declare a report and its pipeline of one rank without jobs. */
#define ONE_RANK(report, pipe) \
    CLEAN(fd_pipe_report_clear) fd_pipe_report report = {.drawn_line = 0}; \
    fd_pipe *pipe = &report.pipeline; \
    OK(fd_pipeline_add_rank(pipe, &(fd_pipe_rank){.position = -1, .data = -1}))

#define REPORT(report) \
    OK(fd_pipeline_settle(&report.pipeline)); \
    OK(fd_pipeline_report(&report, &(fd_pipe_request){.named = FD_SCHEDULES}, \
                          NULL))

/* Add a single job. */
fd_status pipeline_job(fd_pipe *p, const char *kind, int32_t stage,
                       int32_t micro_batch, int64_t start, int64_t end);

/* The first job of a kind and micro-batch on a stage, or NULL. */
const fd_pipe_job *pipeline_find(const fd_pipe *p, const char *kind,
                                 int32_t stage, int32_t micro_batch);

#endif
