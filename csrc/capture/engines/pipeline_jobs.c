#include "capture/engines/pipeline_jobs.h"

#include "capture/operators/node_calls.h"
#include "capture/operators/ranges.h"
#include "capture/rules/program_objects.h"
#include "capture/state/session_state.h"
#include "capture/timers/call_timers.h"
#include "recording/job_table.h"

#include <stdio.h>
#include <string.h>

static uint32_t
plus_one(int64_t number)
{
    return number < 0 ? 0 : (uint32_t)number + 1;
}

fd_found_job
fd_found_job_of(const char *kind)
{
    fd_found_job job = {.planned = fd_job_kind_named(kind),
                        .micro_batch = -1,
                        .stage = -1,
                        .chunk = -1,
                        .peer = -1,
                        .buffer = -1};
    snprintf(job.kind, sizeof job.kind, "%s", kind);
    return job;
}

void
fd_pipeline_recount(fd_engine_pipeline *pipeline)
{
    for (uint32_t i = 0; i < pipeline->counts.count; i++) {
        pipeline->counts.list[i].count = 0;
    }
}

static int64_t
count_node(fd_engine_pipeline *pipeline, uint32_t node, int64_t stage)
{
    for (uint32_t i = 0; i < pipeline->counts.count; i++) {
        fd_counted *at = &pipeline->counts.list[i];
        if (at->node == node && at->stage == stage) {
            return at->count++;
        }
    }
    fd_counted made = {node, stage, 1};
    return fd_vector_push(&pipeline->counts, made) == FD_OK ? 0 : -1;
}

/* Set the micro-batch of a job that has no argument for it. With one chunk,
 * the k-th job of a kind has micro-batch k. A process with several chunks runs
 * them in the order of its schedule: readers look up micro-batch and chunk of
 * the k-th job in the plan. */
static uint32_t
count_micro_batch(fd_engine_pipeline *pipeline, uint32_t node,
                  fd_found_job *job)
{
    bool ordered = pipeline->stages > pipeline->processes && job->stage < 0
                && pipeline->position >= 0 && job->planned != FD_JOB_KINDS;
    job->micro_batch = count_node(pipeline, node, job->stage);
    return ordered ? plus_one(job->micro_batch) : 0;
}

static void
settle_stage(const fd_engine_pipeline *pipeline, fd_found_job *job)
{
    bool chunks = pipeline->stages > pipeline->processes;
    if (job->stage < 0 && pipeline->position >= 0
        && (job->chunk >= 0 || !chunks)) {
        job->stage = pipeline->position
                   + (job->chunk > 0 ? job->chunk * pipeline->processes : 0);
    }
    if (job->chunk < 0 && job->stage >= 0 && chunks
        && pipeline->processes > 0) {
        job->chunk = job->stage / pipeline->processes;
    }
}

/* Mark the iteration as incomplete because a job has no record: readers must
 * not compare it with its plan. */
static void
note_cut(const fd_engine_pipeline *pipeline)
{
    if (pipeline->iteration != NULL) {
        pipeline->iteration->iteration_flags |= FD_ITERATION_CUT;
    }
}

void
fd_pipeline_open(fd_thread *thread, fd_found_job *job, bool count_it,
                 fd_pipeline_call *call)
{
    fd_session *session = thread->session;
    fd_engine_pipeline *pipeline = session->pipeline;
    uint32_t node = fd_texts_node(thread, FD_NODE_JOB, job->kind);
    uint32_t ordinal = count_it ? count_micro_batch(pipeline, node, job) : 0;
    settle_stage(pipeline, job);
    if (job->peer < 0) {
        job->peer = fd_job_peer(job->planned, job->stage);
    }
    fd_job made = {
        .node = node,
        .step = session->steps.number,
        .iteration = fd_pipeline_iteration(pipeline),
        .micro_batch = plus_one(job->micro_batch),
        .stage = plus_one(job->stage),
        .chunk = plus_one(job->chunk),
        .peer = plus_one(job->peer),
        .buffer = plus_one(job->buffer),
        .ordinal = ordinal,
        .bytes = job->bytes,
        .flags =
            job->flags | FD_JOB_ATTACHED | (pipeline->eval ? FD_JOB_EVAL : 0),
    };
    fd_tree *tree = thread->tree;
    fd_job *record = node != 0 && call->count < FD_CALL_JOBS
                          && fd_vector_reserve(&pipeline->open, 1) == FD_OK
                       ? fd_jobs_begin(tree, &made)
                       : NULL;
    if (record == NULL) {
        note_cut(pipeline);
    }
    else {
        call->jobs[call->count++] = record;
        pipeline->open.list[pipeline->open.count++] = (fd_open_job){
            record, tree, fd_tree_id(tree, tree->current), job->planned};
    }
}

void
fd_pipeline_describe(fd_recording *recording,
                     const fd_engine_pipeline *pipeline)
{
    fd_job *job = pipeline->iteration;
    if (job == NULL) {
        return;
    }
    job->schedule = fd_recording_text(recording, pipeline->name);
    job->micro_batches = plus_one(pipeline->micro_batches);
    job->stages = plus_one(pipeline->stages);
    job->processes = plus_one(pipeline->processes);
    job->position = plus_one(pipeline->position);
    job->iteration_flags |= pipeline->own_order
                              ? FD_ITERATION_KNOWN | FD_ITERATION_OWN_ORDER
                              : FD_ITERATION_KNOWN;
}

void
fd_pipeline_close(fd_thread *thread, const fd_pipeline_call *call,
                  uint32_t flags)
{
    fd_engine_pipeline *pipeline = thread->session->pipeline;
    if (call->count > 0) {
        fd_thread_tick(thread, thread->session->timed);
    }
    for (uint32_t i = call->count; i-- > 0;) {
        uint32_t at = pipeline->open.count;
        while (at > 0 && pipeline->open.list[at - 1].job != call->jobs[i]) {
            at--;
        }
        if (at == 0) {
            continue; /* a pause has ended it */
        }
        const fd_open_job open = pipeline->open.list[at - 1];
        open.job->flags |= flags;
        fd_tree_job_ended(open.tree, open.job, open.context);
        pipeline->open.count--;
        for (; at <= pipeline->open.count; at++) {
            pipeline->open.list[at - 1] = pipeline->open.list[at];
        }
    }
}

void
fd_pipeline_read(const fd_job_site *site, const fd_frame *frame,
                 fd_found_job *job)
{
    const fd_source *sources = site->sources;
    job->micro_batch = fd_source_number(&sources[FD_FIELD_MICRO_BATCH], frame);
    job->stage = fd_source_number(&sources[FD_FIELD_STAGE], frame);
    job->chunk = fd_source_number(&sources[FD_FIELD_CHUNK], frame);
    job->peer = fd_source_number(&sources[FD_FIELD_PEER], frame);
    job->buffer = fd_source_number(&sources[FD_FIELD_BUFFER], frame);
    job->bytes = fd_source_bytes(&sources[FD_FIELD_BYTES], frame);
    job->flags = site->rule->local ? FD_JOB_LOCAL : 0;
}

/* Parse the kind at `text`, up to a "+". Return the rest, or NULL at the
 * end. */
static const char *
next_kind(const char *text, fd_found_job *job)
{
    size_t size = strcspn(text, "+");
    size_t kept = size < FD_LONGEST_KIND ? size : FD_LONGEST_KIND - 1;
    memcpy(job->kind, text, kept);
    job->kind[kept] = '\0';
    job->planned = fd_job_kind_named(job->kind);
    return text[size] == '+' ? text + size + 1 : NULL;
}

/* Return whether a job does nothing: in an evaluation, engines call backward
 * passes too, without effect. */
static bool
computes_nothing(const fd_engine_pipeline *pipeline, const fd_found_job *job)
{
    return pipeline->eval && fd_job_is_compute(job->planned)
        && job->planned != FD_JOB_F;
}

void
fd_pipeline_begin(fd_thread *thread, const fd_job_site *site,
                  const fd_frame *frame, fd_pipeline_call *call)
{
    const fd_engine_pipeline *pipeline = thread->session->pipeline;
    bool counts = site->sources[FD_FIELD_MICRO_BATCH].from == FD_SOURCE_COUNT;
    fd_found_job job;
    fd_pipeline_read(site, frame, &job);
    for (const char *kinds = site->rule->kinds; kinds != NULL;) {
        fd_found_job one = job;
        kinds = next_kind(kinds, &one);
        if (kinds != NULL && (job.flags & FD_JOB_LOCAL) != 0) {
            one.stage = fd_job_peer(fd_job_kind_named(kinds), job.stage);
        }
        if (!computes_nothing(pipeline, &one)) {
            fd_pipeline_open(thread, &one, counts, call);
        }
    }
}

static void
begin_transfer(fd_thread *thread, const fd_transfer *transfer, uint32_t flags,
               fd_pipeline_call *call)
{
    fd_found_job job = fd_found_job_of(fd_job_kind_name(transfer->kind));
    job.micro_batch = transfer->micro_batch;
    job.stage = transfer->stage;
    job.bytes = transfer->bytes;
    job.flags = flags;
    fd_pipeline_open(thread, &job, false, call);
}

void
fd_pipeline_post(fd_thread *thread, fd_pipeline_call *call)
{
    const fd_engine_pipeline *pipeline = thread->session->pipeline;
    for (uint32_t i = 0; i < pipeline->prepared.count; i++) {
        const fd_transfer *transfer = &pipeline->prepared.list[i];
        if (fd_job_is_send(transfer->kind)) {
            begin_transfer(thread, transfer, FD_JOB_POSTED, call);
        }
    }
}

void
fd_pipeline_posted(fd_engine_pipeline *pipeline, const void *work)
{
    for (uint32_t i = 0; i < pipeline->prepared.count && work != NULL; i++) {
        fd_transfer transfer = pipeline->prepared.list[i];
        transfer.work = work;
        if (fd_vector_push(&pipeline->posted, transfer) != FD_OK) {
            note_cut(pipeline);
        }
    }
    pipeline->prepared.count = 0;
}

void
fd_pipeline_wait(fd_thread *thread, const fd_job_site *site,
                 const fd_frame *frame, fd_pipeline_call *call)
{
    fd_engine_pipeline *pipeline = thread->session->pipeline;
    PyObject *work = fd_source_object(&site->sources[FD_FIELD_PLAN], frame);
    fd_transfer *list = pipeline->posted.list;
    uint32_t count = pipeline->posted.count;
    uint32_t end = count;
    while (end > 0 && list[end - 1].work != work) {
        end--;
    }
    uint32_t first = end; /* transfers of one POST are adjacent */
    while (first > 0 && list[first - 1].work == work) {
        first--;
    }
    for (uint32_t i = first; i < end; i++) {
        fd_transfer transfer = list[i];
        bool sent = fd_job_is_send(transfer.kind);
        transfer.bytes = sent ? 0 : transfer.bytes; /* those of the POST */
        begin_transfer(thread, &transfer, sent ? FD_JOB_WAIT : 0, call);
    }
    for (uint32_t i = end; i < count; i++) {
        list[first + i - end] = list[i];
    }
    pipeline->posted.count -= end - first;
    Py_XDECREF(work); /* the frame keeps a reference */
}

void
fd_pipeline_prepared(fd_engine_pipeline *pipeline, const fd_transfer *transfer,
                     PyObject *result)
{
    if (result == NULL || !PyList_Check(result)
        || PyList_GET_SIZE(result) == 0) {
        return;
    }
    fd_transfer prepared = *transfer;
    prepared.bytes = fd_tensors_bytes(result);
    if (fd_vector_push(&pipeline->prepared, prepared) != FD_OK) {
        note_cut(pipeline);
    }
}

static fd_open_job *
innermost_job(const fd_engine_pipeline *pipeline, const char *kinds)
{
    for (uint32_t i = pipeline->open.count; i-- > 0;) {
        fd_open_job *open = &pipeline->open.list[i];
        fd_found_job one;
        for (const char *more = kinds; more != NULL;) {
            more = next_kind(more, &one);
            if (one.planned == open->kind) {
                return open;
            }
        }
    }
    return NULL;
}

bool
fd_pipeline_move(const fd_engine_pipeline *pipeline, const fd_job_site *site,
                 const fd_frame *frame)
{
    const fd_open_job *open = innermost_job(pipeline, site->rule->kinds);
    if (open == NULL) {
        return false;
    }
    open->job->bytes += fd_source_bytes(&site->sources[FD_FIELD_BYTES], frame);
    return true;
}

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
