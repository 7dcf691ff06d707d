/* Jobs of pipeline engines, recorded without changes to the engine: a call
 * whose code object has rules (job_rules.h) is a job, or provides facts about
 * later jobs.
 *
 *     train_batch            ITER ┌──────────────────────────────┐
 *       _exec_schedule            │ the schedule                  │
 *         _exec_forward_pass      │  F ┌──┐                       │
 *         _exec_send_activations  │       SA ┌─┐                  │
 *
 * A job is a record of the timeline in addition to the call; the call graph
 * does not change. Nothing of the engine is replaced, called or kept alive. A
 * process has one iteration at a time. Requires the GIL. */
#ifndef FD_ENGINE_PIPELINE_H
#define FD_ENGINE_PIPELINE_H

#include "capture/engines/pipeline_state.h"
#include "capture/state/session_state.h"

/* Begin a call whose code has rules, in `frame`. Its entry must be topmost. */
void fd_pipeline_called(fd_thread *thread, fd_job_site *site, fd_frame *frame,
                        fd_pipeline_call *call);

/* End a call that has returned `result` (NULL: raised), before its entry is
 * closed. */
void fd_pipeline_returned(fd_thread *thread, fd_pipeline_call *call,
                          PyObject *result);

/* Begin and end a call, for hooks with separate callbacks for begin and
 * end. */
void fd_pipeline_entered(fd_thread *thread, fd_job_site *site,
                         fd_frame *frame);
void fd_pipeline_left(fd_thread *thread, const fd_frame *frame,
                      PyObject *result);

/* End the open jobs, because recording pauses. */
void fd_pipeline_pause(fd_engine_pipeline *pipeline);

/* Add a rule of the user and apply it to known code objects. Return FD_EINVAL
 * with a message for an invalid rule. */
fd_status fd_pipeline_add_rule(const fd_job_rule *rule, fd_error *error);

#endif
