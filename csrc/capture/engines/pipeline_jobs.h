/* The jobs of a call, transfers that one call posts and another call waits for,
 * and jobs declared by the program (fastdispatch.job). Requires the GIL. */
#ifndef FD_PIPELINE_JOBS_H
#define FD_PIPELINE_JOBS_H

#include "capture/engines/pipeline_state.h"
#include "capture/state/session_state.h"

/* Begin a job of this kind, identified by `object`, with the numbers in
 * `what`. A job is a range (ranges.h) and, if the timeline has jobs, a
 * record. */
void fd_job_start(fd_thread *thread, const char *kind, const fd_job *what,
                  const void *object, bool timed);

/* End the latest open job of `object` on this thread, if any. */
void fd_job_end(fd_thread *thread, const void *object, bool timed);

enum { FD_LONGEST_KIND = 64 };

/* The numbers of a job before it begins; -1: unknown. */
typedef struct fd_found_job {
    char kind[FD_LONGEST_KIND];
    fd_job_kind planned; /* FD_JOB_KINDS: plans have no such kind */
    int64_t micro_batch;
    int64_t stage;
    int64_t chunk;
    int64_t peer;
    int64_t buffer;
    uint64_t bytes;
    uint32_t flags;
} fd_found_job;

/* Return a job of a kind without known numbers. */
fd_found_job fd_found_job_of(const char *kind);

/* Restart the counts of jobs from 0. */
void fd_pipeline_recount(fd_engine_pipeline *pipeline);

/* Read the numbers of a job from a call, by a rule. */
void fd_pipeline_read(const fd_job_site *site, const fd_frame *frame,
                      fd_found_job *job);

/* Begin a job that ends with the call. With `count_it`, its micro-batch is the
 * number of earlier jobs of the kind. */
void fd_pipeline_open(fd_thread *thread, fd_found_job *job, bool count_it,
                      fd_pipeline_call *call);

/* Begin the jobs of a call according to a rule. */
void fd_pipeline_begin(fd_thread *thread, const fd_job_site *site,
                       const fd_frame *frame, fd_pipeline_call *call);

/* Store the parameters of the plan in the record of the running iteration. */
void fd_pipeline_describe(fd_recording *recording,
                          const fd_engine_pipeline *pipeline);

/* End the jobs of the call; add these flags. */
void fd_pipeline_close(fd_thread *thread, const fd_pipeline_call *call,
                       uint32_t flags);

/* Handle transfers. PREPARE has returned `result`, a list, empty if there is
 * nothing to transfer. POST begins the prepared transfer and has returned
 * `work`. WAIT waits for it. */
void fd_pipeline_prepared(fd_engine_pipeline *pipeline,
                          const fd_transfer *transfer, PyObject *result);
void fd_pipeline_post(fd_thread *thread, fd_pipeline_call *call);
void fd_pipeline_posted(fd_engine_pipeline *pipeline, const void *work);
void fd_pipeline_wait(fd_thread *thread, const fd_job_site *site,
                      const fd_frame *frame, fd_pipeline_call *call);

/* Add the bytes of MOVE to an open job. Return false if no job of its kinds is
 * open, so that the call has another purpose. */
bool fd_pipeline_move(const fd_engine_pipeline *pipeline,
                      const fd_job_site *site, const fd_frame *frame);

#endif
