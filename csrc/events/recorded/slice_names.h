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
    uint32_t name;     /* numbered from 1 in order of appearance */
    uint32_t category; /* numbered from 1; the file of a function, otherwise
                        * the kind */
} fd_slice_name;

typedef struct fd_slice_names {
    fd_text_pool names;
    fd_text_pool categories;   /* a separate pool, so that category numbers are
                                * short */
    fd_slice_name *of_context; /* owned */
} fd_slice_names;

fd_status fd_slice_names_make(fd_slice_names *names, const fd_trace *trace);
void fd_slice_names_clear(fd_slice_names *names);

/* Make the JSON string of each text, once per text instead of once per slice.
 * Free it also after a failure. */
fd_status fd_slice_texts_json(const fd_text_pool *texts, fd_buffer **json);
void fd_slice_texts_free(const fd_text_pool *texts, fd_buffer *json);

/* Return FD_EINVAL with a one-line message if no requested rank has a
 * timeline. */
fd_status fd_timeline_check(const fd_trace *trace, int rank, fd_error *error);

/* The names of jobs in a timeline, and their numbers:
 *
 *     forward mb3    { step: 7, micro_batch: 3, stage: 1 } */

typedef struct fd_job_number {
    const char *name;
    uint64_t value;
} fd_job_number;

enum { FD_JOB_NUMBERS = 7 };

/* The categories of the slice of a job and of its interval on a GPU: they
 * differ, so that a count of slices by category has each job once. */
#define FD_JOB_CATEGORY "job"
#define FD_JOB_ON_STREAM "gpu_job"

/* Append the name of the slice of a job. */
void fd_job_name(const fd_trace *trace, const fd_trace_job *job,
                 fd_buffer *to);

/* Append " (12.345 ms)", always in milliseconds. */
void fd_job_duration(uint64_t ns, fd_buffer *to);

/* Fill in the numbers of the job and return how many there are. */
int fd_job_numbers(const fd_trace_job *job,
                   fd_job_number numbers[FD_JOB_NUMBERS]);

#endif
