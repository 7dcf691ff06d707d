/* The names of jobs in a timeline, and their numbers:
 *
 *     forward mb3    { step: 7, micro_batch: 3, stage: 1 } */
#ifndef FD_JOB_NAMES_H
#define FD_JOB_NAMES_H

#include "base/buffer.h"
#include "trace/trace.h"

typedef struct fd_job_number {
    const char *name;
    uint64_t value;
} fd_job_number;

enum { FD_JOB_NUMBERS = 7 };

/* Of the slice of a job, and of that of its interval on a GPU: whoever counts
 * jobs by their category counts each once. */
#define FD_JOB_CATEGORY "job"
#define FD_JOB_ON_STREAM "gpu_job"

/* Appended. */
void fd_job_name(const fd_trace *trace, const fd_trace_job *job,
                 fd_buffer *to);

/* " (12.345 ms)", appended: always in milliseconds. */
void fd_job_duration(uint64_t ns, fd_buffer *to);

/* Fill in the numbers of the job; returns their count. */
int fd_job_numbers(const fd_trace_job *job,
                   fd_job_number numbers[FD_JOB_NUMBERS]);

#endif
