/* What PaddlePaddle's profiler of pipeline schedules writes into the log of a
 * worker, between whatever else is printed there:
 *
 *     ... Profiler Info: Job (3), type = forward, micro_batch_id = 2,
 *         job_start_time = 1697793307213.760986, job_end_time = ...
 *     ... Schedule Profiler start at step 5 and end at step 8
 *
 * Times are milliseconds since 1970 with six decimals. The number of a job is
 * its place in the schedule, among those of its type, or its micro-batch:
 * versions differ. */
#ifndef FD_PADDLE_LINE_H
#define FD_PADDLE_LINE_H

#include "json/json_scan.h"

typedef struct fd_paddle_job {
    fd_span type; /* letters, digits, '_' */
    uint64_t number;
    uint64_t micro_batch;
    int64_t start_ns; /* since 1970 */
    int64_t end_ns;
} fd_paddle_job;

typedef enum fd_paddle_found {
    FD_PADDLE_NOTHING, /* to the end of the line */
    FD_PADDLE_JOB,
    FD_PADDLE_FIRST_STEP,
    FD_PADDLE_BAD /* begins like a job and is malformed */
} fd_paddle_found;

/* The next of them from `line->from` on, which goes behind it: prints of other
 * threads may put several on a line. */
fd_paddle_found fd_paddle_line_next(fd_span *line, fd_paddle_job *job,
                                    uint64_t *first_step);

#endif
