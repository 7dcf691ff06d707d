#include "trace/reader/recording_reading.h"

#include "recording/job_kinds.h"

#include <stdio.h>
#include <string.h>

/* All jobs are in one file. */
FD_ORDER_POINTERS(by_start, fd_job, FD_UP(start), FD_ORDER(one, other))

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
static void
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
    fd_reading_push(r, &r->rank->iterations, made);
}

/* Interleaved 1F1B of a process, for jobs that Megatron does not number. */
typedef struct interleaving {
    uint32_t processes;
    uint32_t position; /* of this process */
    uint32_t chunks;
    uint32_t micro_batches;
    uint32_t group; /* consecutive micro-batches on a chunk */
} interleaving;

/* Return whether an iteration is interleaved, with the default groups. */
static bool
find_interleaving(interleaving *found, const fd_trace_iteration *it)
{
    bool named = strcmp(it->schedule, "ScheduleInterleaved1F1B") == 0
              || strcmp(it->schedule,
                        "forward_backward_pipelining_with_interleaving")
                     == 0;
    if (!named || it->processes < 2 || it->micro_batches < 2
        || it->stages < it->processes || it->position == 0
        || it->position >= it->processes) {
        return false;
    }
    uint32_t processes = it->processes - 1;
    uint32_t count = it->micro_batches - 1;
    uint32_t rounds = count < processes ? 1 : count / processes;
    *found = (interleaving){.processes = processes,
                            .position = it->position - 1,
                            .chunks = (it->stages - 1) / processes,
                            .micro_batches = count,
                            .group = count / rounds};
    return found->chunks > 1 && count % rounds == 0
        && (uint64_t)found->chunks * processes <= INT16_MAX
        && 7 * ((uint64_t)found->chunks * processes * count) <= 1u << 24;
}

/* Set micro-batch, stage and chunk of the k-th job of its kind from the order
 * of the schedule: each group of micro-batches passes all chunks, backward
 * passes in descending order. The first stage of the model receives no
 * activation and sends no gradient, the last one vice versa: the process that
 * has it has no such jobs for one of its chunks. */
static void
number_interleaved(fd_trace_job *job, fd_job_kind kind, uint32_t k,
                   const interleaving *in)
{
    bool back = kind == FD_JOB_B || kind == FD_JOB_SG || kind == FD_JOB_RG;
    bool first = in->position == 0;
    bool last = in->position == in->processes - 1;
    bool skips_first =
        (kind == FD_JOB_RA && first) || (kind == FD_JOB_RG && last);
    bool skips_last =
        (kind == FD_JOB_SA && last) || (kind == FD_JOB_SG && first);
    bool transfers = fd_job_is_transfer(kind);
    bool planned = kind == FD_JOB_F || kind == FD_JOB_B
                || (transfers && in->processes > 1);
    uint32_t chunks = in->chunks - (skips_first || skips_last);
    uint32_t count = planned ? chunks * in->micro_batches : 0;
    if (k >= count) {
        job->micro_batch = k + 1 - count;
        return;
    }
    uint32_t base = k / (in->group * chunks) * in->group;
    uint32_t left = in->micro_batches - base;
    uint32_t size = left < in->group ? left : in->group;
    uint32_t within = k - base * chunks;
    uint32_t place = within / size + skips_first;
    uint32_t chunk = back ? in->chunks - 1 - place : place;
    int64_t before = (int64_t)job->stage - 1;
    int64_t stage = (int64_t)chunk * in->processes + in->position;
    if ((int64_t)job->peer - 1 == fd_job_peer(kind, before)) {
        job->peer = (uint32_t)(fd_job_peer(kind, stage) + 1);
    }
    job->micro_batch = base + within % size + 1;
    job->stage = (uint32_t)stage + 1;
    job->chunk = job->chunk == 0 ? chunk + 1 : job->chunk;
}

/* Set the numbers of a job to which its engine gives no numbers. */
static void
number_job(const fd_reading *r, fd_trace_job *job, uint32_t ordinal)
{
    const fd_trace_rank *rank = r->rank;
    interleaving in;
    fd_job_kind kind = fd_job_kind_named(fd_trace_text(r->trace, job->kind));
    if (ordinal != 0 && kind != FD_JOB_KINDS && rank->iterations.count > 0
        && find_interleaving(
            &in, &rank->iterations.list[rank->iterations.count - 1])) {
        number_interleaved(job, kind, ordinal - 1, &in);
    }
}

/* Read a job; skip it if its node or thread is damaged. */
static void
read_job(fd_reading *r, const fd_job *job)
{
    const fd_node *node =
        fd_chunks_record(&r->file, FD_CHUNK_NODES, job->node);
    uint32_t thread = fd_map_get(&r->threads, job->thread);
    if (node == NULL || thread == 0) {
        return;
    }
    bool open = (job->flags & FD_JOB_OPEN) != 0;
    fd_trace_job made = {
        .kind = fd_reading_text(r, node->name, 0),
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
        .open = open,
    };
    fd_reading_span(r, job->start, ticks_of(r, job, open), &made.start,
                    &made.duration);
    number_job(r, &made, job->ordinal);
    fd_reading_push(r, &r->rank->jobs, made);
    if ((job->iteration_flags & FD_ITERATION_KNOWN) != 0) {
        add_iteration(r, job);
    }
    fd_arena_put(&r->arena, &r->jobs, fd_reading_id(r, job),
                 r->rank->jobs.count);
}

void
fd_read_jobs(fd_reading *r)
{
    FD_VECTOR(const fd_job *) list = {NULL, 0, 0};
    FOR_EACH_RECORD (r, FD_CHUNK_THREADS, fd_thread_record, record) {
        fd_arena_put(&r->arena, &r->threads, fd_reading_id(r, record),
                     r->threads.count + 1);
    }
    FOR_EACH_RECORD (r, FD_CHUNK_JOBS, fd_job, job) {
        fd_arena_push(&r->arena, &list, job);
    }
    fd_vector_sort(&list, by_start);
    for (uint32_t i = 0; i < list.count; i++) {
        read_job(r, list.list[i]);
    }
}
