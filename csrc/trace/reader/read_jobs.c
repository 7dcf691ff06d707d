#include "trace/reader/recording_reading.h"

#include <stdio.h>

typedef FD_VECTOR(const fd_job *) job_list;

/* All jobs are in one file. */
FD_ORDER_POINTERS(by_start, fd_job, FD_UP(start), FD_ORDER(one, other))

static fd_status
number_threads(fd_reading *r)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(r, FD_CHUNK_THREADS, view)
    {
        const fd_thread_record *records = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = fd_map_put(&r->threads, fd_reading_id(r, &records[i]),
                                r->threads.count + 1);
        }
    }
    return status;
}

/* Return the duration of a job. An open job lasts until the last known time of
 * its thread. */
static uint64_t
ticks_of(const fd_reading *r, const fd_job *job, bool open)
{
    if (!open) {
        return job->ticks;
    }
    const fd_thread_record *thread =
        fd_chunks_record(&r->file, FD_CHUNK_THREADS, job->thread);
    return thread->last > job->start ? thread->last - job->start : 0;
}

/* Add the iteration of the latest job. */
static fd_status
add_iteration(fd_reading *r, const fd_job *job)
{
    const fd_string *name = fd_chunks_string(&r->file, job->schedule);
    fd_trace_iteration made = {.job = r->rank->jobs.count - 1,
                               .flags = job->iteration_flags,
                               .micro_batches = job->micro_batches,
                               .stages = job->stages,
                               .processes = job->processes,
                               .position = job->position};
    if (name != NULL) {
        snprintf(made.schedule, sizeof made.schedule, "%.*s", (int)name->size,
                 name->bytes);
    }
    return fd_vector_push(&r->rank->iterations, made);
}

/* Read a job; skip it if its node or thread is damaged. */
static fd_status
read_job(fd_reading *r, const fd_job *job)
{
    const fd_node *node =
        fd_chunks_record(&r->file, FD_CHUNK_NODES, job->node);
    uint32_t thread = fd_map_get(&r->threads, job->thread);
    uint64_t origin = fd_chunks_header(&r->file)->start.ticks;
    if (node == NULL || thread == 0) {
        return FD_OK;
    }
    bool open = (job->flags & FD_JOB_OPEN) != 0;
    uint64_t since = job->start > origin ? job->start - origin : 0;
    uint64_t ticks = ticks_of(r, job, open);
    uint64_t start = fd_reading_ns(r, since);
    uint64_t end =
        since + ticks >= since ? fd_reading_ns(r, since + ticks) : start;
    fd_trace_job made = {
        .context = fd_reading_context(r, job->context),
        .thread = thread - 1,
        .step = job->step,
        .micro_batch = job->micro_batch,
        .stage = job->stage,
        .chunk = job->chunk,
        .peer = job->peer,
        .buffer = job->buffer,
        .iteration = job->iteration,
        .flags = job->flags,
        .bytes = job->bytes,
        .start = start,
        .duration = end - start,
        .open = open,
        .ordinal = job->ordinal,
    };
    fd_status status = fd_reading_text(r, node->name, 0, &made.kind);
    fd_then(status, fd_vector_push(&r->rank->jobs, made));
    if (status == FD_OK && (job->iteration_flags & FD_ITERATION_KNOWN) != 0) {
        status = add_iteration(r, job);
    }
    return fd_then(status, fd_map_put(&r->jobs, fd_reading_id(r, job),
                                      r->rank->jobs.count));
}

fd_status
fd_read_jobs(fd_reading *r)
{
    job_list list = {NULL, 0, 0};
    fd_status status = number_threads(r);
    FOR_EACH_CHUNK(r, FD_CHUNK_JOBS, view)
    {
        const fd_job *records = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = fd_vector_push(&list, &records[i]);
        }
    }
    fd_vector_sort(&list, by_start);
    for (uint32_t i = 0; i < list.count && status == FD_OK; i++) {
        status = read_job(r, list.list[i]);
    }
    fd_vector_clear(&list);
    return status;
}
