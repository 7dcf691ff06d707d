/* Jobs of pipeline engines, recorded without changes to the engine: a call
 * whose code object has rules (job_rules.h) is a job, or has facts about the
 * next ones.
 *
 *     train_batch            ITER ┌──────────────────────────────┐
 *       _exec_schedule            │ which schedule                │
 *         _exec_forward_pass      │  F ┌──┐                       │
 *         _exec_send_activations  │       SA ┌─┐                  │
 *
 * A job is a record of the timeline in addition to the call: the call graph is
 * the same with it and without. Nothing of the engine is replaced, called or
 * kept alive. One iteration is followed at a time; needs the GIL. */
#ifndef FD_ENGINE_PIPELINE_H
#define FD_ENGINE_PIPELINE_H

#include "capture/engines/pipeline_state.h"
#include "capture/state/session_state.h"

/* A call whose code has rules has been entered, in `frame`; its entry is
 * the topmost. */
void fd_pipeline_called(fd_thread *thread, fd_job_site *site, fd_frame *frame,
                        fd_pipeline_call *call);

/* It returned `result`, or raised with NULL, and its entry is still there. */
void fd_pipeline_returned(fd_thread *thread, fd_pipeline_call *call,
                          PyObject *result);

/* The same for hooks that have separate callbacks for begin and end. */
void fd_pipeline_entered(fd_thread *thread, fd_job_site *site,
                         fd_frame *frame);
void fd_pipeline_left(fd_thread *thread, const fd_frame *frame,
                      PyObject *result);

/* Recording pauses: what is open ends. */
void fd_pipeline_pause(fd_engine_pipeline *pipeline);

/* Add a rule of the user, also to code that is known already. FD_EINVAL, with
 * a line, for an invalid one. */
fd_status fd_pipeline_add_rule(const fd_job_rule *rule, fd_error *error);

#endif
