#include "recording/job_table.h"

enum { FIRST_JOBS = 4 * 1024 };

static fd_job *
reserve_job(fd_tree *tree)
{
    fd_recording *recording = tree->recording;
    const fd_chunk *chunk = tree->jobs.chunk;
    if (chunk != NULL && chunk->used < chunk->capacity) {
        return fd_pool_reserve(&tree->jobs, 1);
    }
    if (chunk == NULL) {
        tree->jobs = fd_pool_of(&recording->file, FD_CHUNK_JOBS,
                                sizeof(fd_job), FIRST_JOBS);
        tree->jobs.owner = fd_file_id(&recording->file, tree->record);
    }
    fd_job *job = NULL;
    pthread_mutex_lock(&recording->lock);
    size_t bytes = tree->jobs.next_bytes;
    if (recording->job_bytes + bytes <= recording->limits.max_jobs) {
        job = fd_pool_reserve(&tree->jobs, 1);
        recording->job_bytes += job != NULL ? bytes : 0;
    }
    pthread_mutex_unlock(&recording->lock);
    return job;
}

fd_job *
fd_jobs_begin(fd_tree *tree, const fd_job *what)
{
    const fd_timeline *timeline = &tree->recording->timeline;
    bool drawn =
        timeline->on && timeline->shortest[FD_TIMELINE_JOBS] != UINT64_MAX;
    if (!drawn && !timeline->jobs) {
        return NULL;
    }
    fd_job *job = reserve_job(tree);
    if (job == NULL) {
        fd_file_count(&tree->recording->file, FD_COUNT_JOBS_FULL);
        return NULL;
    }
    *job = *what;
    job->start = tree->record->last;
    job->thread = fd_file_id(&tree->recording->file, tree->record);
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
