/* The names of slices in a timeline:
 *
 *     Python function   blocks.3 [Block]:forward   of pretrain.py
 *     operator          aten::mm                   of op
 */
#ifndef FD_SLICE_NAMES_H
#define FD_SLICE_NAMES_H

#include "base/buffer.h"
#include "profile/totals.h"
#include "trace/trace.h"

typedef struct fd_slice_name {
    uint32_t name;     /* numbered from 1, as they appear */
    uint32_t category; /* the same; the file of a function, else the kind */
} fd_slice_name;

typedef struct fd_slice_names {
    fd_text_pool names;
    fd_text_pool categories;   /* few, so that their numbers are short */
    fd_slice_name *of_context; /* owned */
} fd_slice_names;

fd_status fd_slice_names_make(fd_slice_names *names, const fd_trace *trace);
void fd_slice_names_clear(fd_slice_names *names);

/* Each text as a JSON string: escaped once per text, not once per slice. Free
 * it in any case. */
fd_status fd_slice_texts_json(const fd_text_pool *texts, fd_buffer **json);
void fd_slice_texts_free(const fd_text_pool *texts, fd_buffer *json);

/* FD_EINVAL with one line where no rank that is asked for has a timeline. */
fd_status fd_timeline_check(const fd_trace *trace, int rank, fd_error *error);

/* The names of jobs in a timeline, and their numbers:
 *
 *     forward mb3    { step: 7, micro_batch: 3, stage: 1 } */

typedef struct fd_job_number {
    const char *name;
    uint64_t value;
} fd_job_number;

enum { FD_JOB_NUMBERS = 7 };

/* Of the slice of a job, and of that of its interval on a GPU: a count
 * of jobs by category then has each once. */
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
