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

fd_engine_pipeline *fd_pipeline_new(void);
void fd_pipeline_free(fd_engine_pipeline *pipeline);

/* Begin a call whose code has rules, in `frame`. Its entry must be topmost. */
void fd_pipeline_entered(fd_thread *thread, fd_job_site *site,
                         fd_frame *frame);

/* End the call of `frame`, if it was begun in this window, before its entry is
 * closed; `result` is NULL if it raised. */
void fd_pipeline_left(fd_thread *thread, const fd_frame *frame,
                      PyObject *result);

/* End the open jobs, because recording pauses. */
void fd_pipeline_pause(fd_engine_pipeline *pipeline);

/* Add a rule, and apply it to known code objects if it is of the user: others
 * are added before the first recording. Return false if there is no memory. */
bool fd_pipeline_add_rule(const fd_job_rule *rule);

#endif
