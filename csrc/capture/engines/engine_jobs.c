#include "capture/engines/engine_jobs.h"

#include "capture/engines/pipeline_state.h"
#include "capture/operators/node_calls.h"
#include "capture/operators/ranges.h"
#include "capture/operators/text_nodes.h"
#include "capture/timers/call_timers.h"
#include "recording/job_table.h"

void
fd_job_start(fd_thread *thread, const char *kind, const fd_job *what,
             const void *object, bool timed)
{
    fd_tree *tree = thread->tree;
    fd_job job = *what;
    job.node = fd_texts_node(thread, FD_NODE_JOB, kind);
    job.step = thread->session->steps.number;
    job.object = (uintptr_t)object;
    if (thread->session->pipeline != NULL) {
        job.iteration = fd_pipeline_iteration(thread->session->pipeline);
    }
    fd_thread_tick(thread, timed);
    if (job.node != 0 && fd_stack_make_room(tree)) {
        const fd_job *made = fd_jobs_begin(tree, &job);
        fd_stack_push_range(tree, job.node, made != NULL ? made : object);
        if (thread->session->timers.sampling) {
            fd_timers_begin(thread);
        }
        thread->generation = 0; /* make the next event settle the range */
    }
}

void
fd_job_end(fd_thread *thread, const void *object, bool timed)
{
    int64_t at = fd_jobs_find(thread->tree, object);
    if (at < 0) {
        at = fd_stack_find(thread->tree, object, FD_ENTRY_RANGE);
    }
    if (at >= 0) {
        fd_range_end(thread, (uint32_t)at, timed);
    }
}
