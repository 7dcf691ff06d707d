/* Lines that PaddlePaddle's profiler of pipeline schedules prints into the log
 * of a worker, among any other output:
 *
 *     ... Profiler Info: Job (3), type = forward, micro_batch_id = 2,
 *         job_start_time = 1697793307213.760986, job_end_time = ...
 *     ... Schedule Profiler start at step 5 and end at step 8
 *
 * Times are milliseconds since 1970 with six decimals. The number of a job is
 * its index in the schedule, its index among the jobs of its type, or its
 * micro-batch, depending on the version. */
#ifndef FD_PADDLE_LINE_H
#define FD_PADDLE_LINE_H

#include "json/json_scan.h"

typedef struct fd_paddle_job {
    fd_span type; /* letters, digits, '_' */
    uint64_t number;
    uint64_t micro_batch;
    int64_t start_ns; /* ns since 1970 */
    int64_t end_ns;
} fd_paddle_job;

typedef enum fd_paddle_found {
    FD_PADDLE_NOTHING, /* nothing before the end of the line */
    FD_PADDLE_JOB,
    FD_PADDLE_FIRST_STEP,
    FD_PADDLE_BAD /* starts like a job, but is malformed */
} fd_paddle_found;

/* Find the next job or first step in `line` and advance `line->from` behind
 * it. Output of several threads can share one line. */
fd_paddle_found fd_paddle_line_next(fd_span *line, fd_paddle_job *job,
                                    uint64_t *first_step);

#endif
