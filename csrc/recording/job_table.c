#include "recording/job_table.h"

fd_job *
fd_jobs_begin(fd_tree *tree, const fd_job *what)
{
    fd_recording *recording = tree->recording;
    const fd_timeline *timeline = &recording->timeline;
    bool drawn =
        timeline->on && timeline->shortest[FD_TIMELINE_JOBS] != UINT64_MAX;
    if (!drawn && !timeline->jobs) {
        return NULL;
    }
    fd_job *job =
        fd_recording_reserve(recording, &tree->jobs, 1, &recording->job_bytes,
                             recording->limits.max_jobs);
    if (job == NULL) {
        fd_file_count(&recording->file, FD_COUNT_JOBS_FULL);
        return NULL;
    }
    *job = *what;
    job->start = tree->record->last;
    job->thread = fd_file_id(&recording->file, tree->record);
    job->flags |= FD_JOB_OPEN;
    fd_pool_publish(&tree->jobs, 1);
    return job;
}

int64_t
fd_jobs_find(const fd_tree *tree, const void *object)
{
    int64_t at = (int64_t)fd_tree_depth(tree) - 1;
    for (; at >= 0; at--) {
        const fd_job *job = fd_tree_job_of(tree, &tree->stack[at]);
        if (job != NULL && job->object == (uintptr_t)object) {
            break;
        }
    }
    return at;
}
