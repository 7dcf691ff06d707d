/* The names of slices in a timeline:
 *
 *     Python function   blocks.3 [Block]:forward   of pretrain.py
 *     operator          aten::mm                   of op
 */
#ifndef FD_SLICE_NAMES_H
#define FD_SLICE_NAMES_H

#include "base/arena.h"
#include "events/event_batch.h"
#include "profile/totals.h"
#include "trace/trace.h"

typedef struct fd_slice_name {
    uint32_t name;     /* numbered from 1 in order of appearance */
    uint32_t category; /* numbered from 1; the file of a function, otherwise
                        * the kind */
} fd_slice_name;

typedef struct fd_slice_names {
    fd_text_pool names;        /* JSON strings */
    fd_text_pool categories;   /* likewise; a separate pool, so that category
                                * numbers are short */
    fd_slice_name *of_context; /* of the arena */
} fd_slice_names;

/* Make the names of empty `names`; contexts with the same node and module share
 * a name. */
void fd_slice_names_make(fd_slice_names *names, const fd_trace *trace,
                         fd_arena *arena);
void fd_slice_names_clear(fd_slice_names *names);

/* Return FD_EINVAL with a one-line message if no requested rank has a
 * timeline. */
fd_status fd_timeline_check(const fd_trace *trace, int rank, fd_error *error);

/* Return a name with a duration: "train_step (12.3 ms)". */
fd_span fd_slice_timed(fd_span name, uint64_t duration, fd_event_batch *batch);

/* The categories of the slice of a job and of its interval on a GPU: they
 * differ, so that a count of slices by category has each job once. */
#define FD_JOB_CATEGORY "job"
#define FD_JOB_ON_STREAM "gpu_job"

/* Set the name of the slice of a job, with its duration if that is not
 * UINT64_MAX, and its numbers as arguments:
 *
 *     forward mb3 (12.345 ms)    { step: 7, micro_batch: 3, stage: 1 } */
void fd_job_slice(const fd_trace *trace, const fd_trace_job *job,
                  uint64_t duration, fd_event_batch *batch,
                  fd_timeline_event *made);

#endif
