#include "capture/engines/engine_pipeline.h"

#include "base/alloc.h"
#include "capture/engines/pipeline_jobs.h"
#include "capture/frames/code_nodes.h"
#include "capture/process/guard.h"

#include <stdio.h>
#include <string.h>

fd_engine_pipeline *
fd_pipeline_new(void)
{
    fd_engine_pipeline *pipeline = fd_calloc(1, sizeof *pipeline);
    if (pipeline != NULL) {
        pipeline->stages = -1;
        pipeline->processes = -1;
        pipeline->position = -1;
        pipeline->micro_batches = -1;
    }
    return pipeline;
}

void
fd_pipeline_free(fd_engine_pipeline *pipeline)
{
    if (pipeline == NULL) {
        return;
    }
    fd_vector_clear(&pipeline->counts);
    fd_vector_clear(&pipeline->prepared);
    fd_vector_clear(&pipeline->posted);
    fd_vector_clear(&pipeline->open);
    fd_vector_clear(&pipeline->entered);
    fd_map_clear(&pipeline->matched);
    fd_free(pipeline);
}

static void
take_number(int64_t *to, int64_t number)
{
    *to = number >= 0 ? number : *to;
}

static void
name_schedule(fd_engine_pipeline *pipeline, const fd_job_site *site,
              const fd_frame *frame)
{
    PyObject *object = fd_source_object(&site->sources[FD_FIELD_PLAN], frame);
    const char *name = object != NULL
                         ? fd_class_name(Py_TYPE(object))
                         : PyUnicode_AsUTF8(fd_frame_code(frame)->co_name);
    snprintf(pipeline->name, sizeof pipeline->name, "%s",
             name != NULL ? name : "");
    Py_XDECREF(object);
    PyErr_Clear();
}

static void
read_pipeline(fd_engine_pipeline *pipeline, const fd_job_site *site,
              const fd_frame *frame)
{
    const fd_source *sources = site->sources;
    take_number(&pipeline->micro_batches,
                fd_source_number(&sources[FD_FIELD_MICRO_BATCH], frame));
    take_number(&pipeline->stages,
                fd_source_number(&sources[FD_FIELD_STAGE], frame));
    take_number(&pipeline->processes,
                fd_source_number(&sources[FD_FIELD_CHUNK], frame));
    if (pipeline->processes < 0) {
        pipeline->processes = pipeline->stages;
    }
    name_schedule(pipeline, site, frame);
}

/* Get the values that only methods of the engine return: once, by Python code
 * of the recorder, with hooks disabled. */
static void
call_on_pipeline(fd_thread *thread, const fd_job_site *site,
                 const fd_frame *frame)
{
    fd_session *session = thread->session;
    fd_engine_pipeline *pipeline = session->pipeline;
    if (pipeline->described || pipeline->on_pipeline == NULL) {
        return;
    }
    pipeline->described = true;
    const fd_source self = {.from = FD_SOURCE_VALUE, .slot = 0};
    bool method = strchr(site->rule->qualified, '.') != NULL;
    PyObject *owner = fd_source_object(
        method ? &self : &site->sources[FD_FIELD_OWNER], frame);
    PyObject *argument = Py_BuildValue("(sO)", site->rule->engine,
                                       owner != NULL ? owner : Py_None);
    PyObject *facts = argument == NULL
                        ? NULL
                        : fd_session_call(session, thread,
                                          pipeline->on_pipeline, argument);
    long long position;
    long long processes;
    long long stages;
    if (facts != NULL && PyTuple_Check(facts)
        && PyArg_ParseTuple(facts, "LLL", &position, &processes, &stages)) {
        take_number(&pipeline->position, position);
        take_number(&pipeline->processes, processes);
        take_number(&pipeline->stages, stages);
    }
    PyErr_Clear();
    Py_XDECREF(facts);
    Py_XDECREF(argument);
    Py_XDECREF(owner);
}

static void
begin_iteration(fd_thread *thread, const fd_job_site *site,
                const fd_frame *frame, fd_pipeline_call *call)
{
    fd_engine_pipeline *pipeline = thread->session->pipeline;
    call->outermost = pipeline->nesting++ == 0;
    if (!call->outermost) {
        return;
    }
    pipeline->iterations++;
    pipeline->engine = site->rule->engine;
    pipeline->eval =
        fd_source_holds(&site->sources[FD_FIELD_EVAL], frame, false);
    pipeline->own_order = false;
    pipeline->prepared.count = 0;
    pipeline->posted.count = 0;
    fd_pipeline_recount(pipeline);
    call_on_pipeline(thread, site, frame);
    read_pipeline(pipeline, site, frame);
    fd_found_job job = fd_found_job_of("ITER");
    fd_pipeline_open(thread, &job, false, call);
    pipeline->iteration = call->count > 0 ? call->jobs[0] : NULL;
    fd_pipeline_describe(thread->session->recording, pipeline);
}

static void
summarize_pipeline(fd_engine_pipeline *pipeline)
{
    fd_pipeline_summary *summary = &pipeline->summary;
    summary->engine = pipeline->engine;
    summary->trained = !pipeline->eval;
    summary->stages = pipeline->stages;
    summary->processes = pipeline->processes;
    summary->micro_batches = pipeline->micro_batches;
    memcpy(summary->name, pipeline->name, sizeof summary->name);
}

static void
end_iteration(fd_thread *thread, const fd_pipeline_call *call)
{
    fd_session *session = thread->session;
    fd_engine_pipeline *pipeline = session->pipeline;
    pipeline->nesting -= pipeline->nesting > 0;
    if (!call->outermost) {
        return;
    }
    if (pipeline->iteration != NULL) {
        pipeline->iteration->iteration_flags |= FD_ITERATION_ENDED;
        pipeline->iteration = NULL;
    }
    if (!pipeline->eval || !pipeline->summary.trained) {
        summarize_pipeline(pipeline);
    }
    pipeline->eval = false;
    if (pipeline->changed) {
        pipeline->changed = false;
        fd_session_changed(session, thread);
    }
}

static void
note_match(fd_engine_pipeline *pipeline, const fd_job_site *site)
{
    if (fd_map_get(&pipeline->matched, site->number + 1) == 0) {
        fd_map_put(&pipeline->matched, site->number + 1, 1);
        pipeline->changed = true;
    }
}

/* Outside of iterations, restart the counts at each step. */
static void
recount_per_step(fd_thread *thread)
{
    fd_engine_pipeline *pipeline = thread->session->pipeline;
    uint64_t step = thread->session->steps.number;
    if (pipeline->nesting == 0 && pipeline->step != step) {
        pipeline->step = step;
        fd_pipeline_recount(pipeline);
    }
}

/* If a function of the engine deviates from the schedule, its name is reported
 * as the schedule. The record keeps the schedule itself, whose plan is still
 * valid for counting: jobs of the same kind run in the order of the plan. */
static void
note_order(fd_engine_pipeline *pipeline, const fd_job_site *site,
           const fd_frame *frame)
{
    if (site->rule->own_order && !pipeline->own_order) {
        pipeline->own_order = true;
        name_schedule(pipeline, site, frame);
        if (pipeline->iteration != NULL) {
            pipeline->iteration->iteration_flags |= FD_ITERATION_OWN_ORDER;
        }
    }
}

static void
site_called(fd_thread *thread, const fd_job_site *site, fd_frame *frame,
            fd_pipeline_call *call)
{
    fd_engine_pipeline *pipeline = thread->session->pipeline;
    fd_found_job job;
    call->role = site->rule->role;
    if (call->role == FD_ROLE_MOVE) {
        if (fd_pipeline_move(pipeline, site, frame)) {
            note_match(pipeline, site);
        }
        return;
    }
    note_match(pipeline, site);
    recount_per_step(thread);
    switch (site->rule->role) {
    case FD_ROLE_JOB:
        note_order(pipeline, site, frame);
        fd_pipeline_begin(thread, site, frame, call);
        break;
    case FD_ROLE_ITERATION:
        begin_iteration(thread, site, frame, call);
        break;
    case FD_ROLE_SCHEDULE:
        read_pipeline(pipeline, site, frame);
        fd_pipeline_describe(thread->session->recording, pipeline);
        break;
    case FD_ROLE_PREPARE:
        fd_pipeline_read(site, frame, &job);
        call->transfer =
            (fd_transfer){.kind = fd_job_kind_named(site->rule->kinds),
                          .micro_batch = job.micro_batch,
                          .stage = job.stage};
        break;
    case FD_ROLE_POST:
        fd_pipeline_post(thread, call);
        break;
    case FD_ROLE_WAIT:
        fd_pipeline_wait(thread, site, frame, call);
        break;
    case FD_ROLE_MOVE:
        break;
    }
}

/* Mark the jobs of a call that has several jobs, which share one interval. */
static void
fuse_jobs(const fd_pipeline_call *call)
{
    for (uint32_t i = 0; i < call->count; i++) {
        call->jobs[i]->flags |= FD_JOB_FUSED;
    }
}

static void
begin_call(fd_thread *thread, fd_job_site *site, fd_frame *frame,
           fd_pipeline_call *call)
{
    fd_guard guard = fd_guard_enter(thread);
    /* `site_called` may run Python code that frees it. */
    fd_job_site *first = fd_job_site_hold(site);
    bool more = true;
    for (; site != NULL && more; site = site->next) {
        if (fd_source_holds(&site->sources[FD_FIELD_WHEN], frame, true)) {
            site_called(thread, site, frame, call);
            more = site->rule->also;
        }
    }
    if (call->count > 1) {
        fuse_jobs(call);
    }
    fd_job_site_free(first);
    fd_guard_leave(&guard);
}

static void
end_call(fd_thread *thread, const fd_pipeline_call *call, PyObject *result)
{
    fd_engine_pipeline *pipeline = thread->session->pipeline;
    fd_pipeline_close(thread, call, result == NULL ? FD_JOB_EXCEPTION : 0);
    if (call->role == FD_ROLE_PREPARE) {
        fd_guard guard = fd_guard_enter(thread);
        fd_pipeline_prepared(pipeline, &call->transfer, result);
        fd_guard_leave(&guard);
    }
    else if (call->role == FD_ROLE_POST) {
        fd_pipeline_posted(pipeline, result);
    }
    else if (call->role == FD_ROLE_ITERATION) {
        end_iteration(thread, call);
    }
}

void
fd_pipeline_entered(fd_thread *thread, fd_job_site *site, fd_frame *frame)
{
    fd_engine_pipeline *pipeline = thread->session->pipeline;
    if (pipeline == NULL
        || fd_vector_reserve(&pipeline->entered, 1) != FD_OK) {
        return;
    }
    fd_entered_call entered = {.frame = frame, .call = {FD_ROLE_JOB}};
    begin_call(thread, site, frame, &entered.call);
    fd_vector_push(&pipeline->entered, entered);
}

/* Search for the latest call of the frame, because other threads may have
 * entered calls since. */
void
fd_pipeline_left(fd_thread *thread, const fd_frame *frame, PyObject *result)
{
    fd_engine_pipeline *pipeline = thread->session->pipeline;
    uint32_t at = pipeline != NULL ? pipeline->entered.count : 0;
    while (at > 0 && pipeline->entered.list[at - 1].frame != frame) {
        at--;
    }
    if (at == 0) {
        return; /* the call was entered before a pause */
    }
    fd_pipeline_call call = pipeline->entered.list[at - 1].call;
    pipeline->entered.count--;
    for (; at <= pipeline->entered.count; at++) {
        pipeline->entered.list[at - 1] = pipeline->entered.list[at];
    }
    end_call(thread, &call, result);
}

void
fd_pipeline_pause(fd_engine_pipeline *pipeline)
{
    for (uint32_t i = pipeline->open.count; i-- > 0;) {
        const fd_open_job *open = &pipeline->open.list[i];
        fd_tree_job_ended(open->tree, open->job, open->context);
    }
    pipeline->open.count = 0;
    pipeline->entered.count = 0;
    pipeline->nesting = 0;
    pipeline->iteration = NULL;
    pipeline->eval = false;
}

bool
fd_pipeline_add_rule(const fd_job_rule *rule)
{
    bool added = fd_job_rules_add(rule);
    if (added && fd_job_rule_is_of_user(rule)) {
        fd_code_refresh();
    }
    return added;
}
