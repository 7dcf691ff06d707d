#include "pipeline/iteration_plans.h"

#include "pipeline/plan_comparison.h"
#include "trace/canonical_order.h"
#include "json/json_text.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* Jobs of one iteration that are compared with a plan. */
enum { MOST_EXECUTED = 1 << 18, LINE = 200 };

/* Position of a count of the plan's jobs of a kind. */
typedef struct cursor {
    uint32_t at;   /* index in the plan's jobs; 0: not begun */
    uint32_t seen; /* number of jobs of the kind before it */
} cursor;

/* The iterations of one rank. */
typedef struct comparison {
    const fd_trace *trace;
    fd_trace_rank *rank;
    const fd_trace_iteration *iteration;
    fd_plan plan; /* the plan of `request` */
    fd_plan_request request;
    bool planned; /* the plan is valid for this iteration */
    cursor cursors[FD_JOB_KINDS];
    FD_VECTOR(fd_executed) executed;
    /* parallel to the jobs: index into the rank's jobs */
    FD_VECTOR(uint32_t) places;
    const char *schedule; /* of the latest training iteration */
    bool trained;
    char difference[LINE]; /* the first difference, or "" */
} comparison;

static fd_schedule
schedule_of(const char *class_name)
{
    static const struct {
        const char *name;
        fd_schedule schedule;
    } classes[] = {
        {"TrainSchedule", FD_SCHEDULE_DEEPSPEED_TRAIN},
        {"InferenceSchedule", FD_SCHEDULE_DEEPSPEED_INFERENCE},
        {"DataParallelSchedule", FD_SCHEDULE_DEEPSPEED_DP},
        {"ScheduleGPipe", FD_SCHEDULE_GPIPE},
        {"Schedule1F1B", FD_SCHEDULE_1F1B},
        {"ScheduleInterleaved1F1B", FD_SCHEDULE_INTERLEAVED},
        {"ScheduleZBVZeroBubble", FD_SCHEDULE_ZB_V},
        {"forward_backward_no_pipelining", FD_SCHEDULE_1F1B},
        {"forward_backward_pipelining_without_interleaving", FD_SCHEDULE_1F1B},
        {"forward_backward_pipelining_with_interleaving",
         FD_SCHEDULE_INTERLEAVED},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(classes[i].name, class_name) == 0) {
            return classes[i].schedule;
        }
    }
    return FD_SCHEDULES;
}

static int64_t
number_of(uint32_t plus_one)
{
    return (int64_t)plus_one - 1;
}

static uint32_t
plus_one(int64_t number)
{
    return number < 0 ? 0 : (uint32_t)number + 1;
}

/* Make the plan of the iteration, unless it equals the previous one. */
static fd_status
make_plan(comparison *c)
{
    const fd_trace_iteration *it = c->iteration;
    int64_t processes = number_of(it->processes);
    int64_t micro_batches = number_of(it->micro_batches);
    fd_plan_request request = {.schedule = schedule_of(it->schedule)};
    c->planned = false;
    memset(c->cursors, 0, sizeof c->cursors);
    if (request.schedule == FD_SCHEDULES || micro_batches <= 0
        || processes <= 0 || number_of(it->stages) < processes) {
        return FD_OK;
    }
    request.stages = (uint32_t)processes;
    request.micro_batches = (uint32_t)micro_batches;
    request.chunks = (uint32_t)(number_of(it->stages) / processes);
    if (c->plan.first == NULL
        || memcmp(&request, &c->request, sizeof request) != 0) {
        fd_plan_clear(&c->plan);
        c->request = request;
        fd_status status = fd_plan_make(&c->plan, &request, NULL);
        if (status != FD_OK) {
            fd_plan_clear(&c->plan);
            return status == FD_ENOMEM ? status : FD_OK;
        }
    }
    c->planned = true;
    return FD_OK;
}

static fd_job_kind
kind_of(const comparison *c, const fd_trace_job *job)
{
    const char *name = fd_trace_text(c->trace, job->kind);
    int kind = 0;
    while (kind < FD_JOB_KINDS
           && strcmp(fd_job_kind_name((fd_job_kind)kind), name) != 0) {
        kind++;
    }
    return (fd_job_kind)kind;
}

/* Return the job of this kind with this number in the plan of a process. Past
 * the last one, return NULL and set `*count` to their number. */
static const fd_plan_job *
planned_job(comparison *c, uint32_t index, fd_job_kind kind, uint32_t number,
            uint32_t *count)
{
    const fd_plan *plan = &c->plan;
    cursor *at = &c->cursors[kind];
    if (at->at == 0 || number < at->seen) {
        *at = (cursor){.at = plan->first[index]};
    }
    for (; at->at < plan->first[index + 1]; at->at++) {
        const fd_plan_job *job = &plan->jobs.list[at->at];
        if (job->kind == kind && at->seen++ == number) {
            at->seen--; /* the next search begins with this job */
            return job;
        }
    }
    *count = at->seen;
    return NULL;
}

/* Set micro-batch and stage of a job without numbers from the engine. */
static void
number_job(comparison *c, fd_trace_job *job)
{
    uint32_t ordinal = job->ordinal;
    fd_job_kind kind = kind_of(c, job);
    int64_t index = number_of(c->iteration->position);
    uint32_t count = 0;
    job->ordinal = 0;
    if (ordinal == 0 || !c->planned || index < 0 || index >= c->plan.stages
        || kind == FD_JOB_KINDS) {
        return;
    }
    const fd_plan_job *planned =
        planned_job(c, (uint32_t)index, kind, ordinal - 1, &count);
    if (planned == NULL) {
        job->micro_batch = ordinal - count;
        return;
    }
    bool own_peer =
        job->peer != plus_one(fd_job_peer(kind, number_of(job->stage)));
    job->micro_batch = plus_one(planned->micro_batch);
    job->stage = plus_one(planned->stage);
    if (job->chunk == 0) {
        job->chunk = plus_one(planned->stage / (int64_t)c->plan.stages);
    }
    if (!own_peer) {
        job->peer = plus_one(fd_job_peer(kind, planned->stage));
    }
}

/* Collect the jobs of the iteration. */
static fd_status
collect_jobs(comparison *c, uint32_t end)
{
    const fd_trace_job *batch = &c->rank->jobs.list[c->iteration->job];
    fd_status status = FD_OK;
    c->executed.count = 0;
    c->places.count = 0;
    for (uint32_t i = c->iteration->job + 1; i < end && status == FD_OK; i++) {
        const fd_trace_job *job = &c->rank->jobs.list[i];
        fd_job_kind kind = kind_of(c, job);
        if (job->iteration != batch->iteration || kind == FD_JOB_KINDS
            || (job->flags & FD_JOB_ATTACHED) == 0
            || (job->flags & (FD_JOB_LOCAL | FD_JOB_WAIT)) != 0) {
            continue;
        }
        fd_executed ran = {.kind = (uint8_t)kind,
                           .stage = (int16_t)number_of(job->stage),
                           .micro_batch = (int32_t)number_of(job->micro_batch),
                           .buffer = (int32_t)number_of(job->buffer)};
        status = fd_vector_push(&c->executed, ran);
        fd_then(status, fd_vector_push(&c->places, i));
    }
    return status;
}

/* Return the position of this process in the plan: as recorded, or the holder of
 * the recorded jobs; -1: unknown. */
static int64_t
index_of(const comparison *c)
{
    if (c->iteration->position != 0) {
        return number_of(c->iteration->position);
    }
    for (uint32_t i = 0; i < c->executed.count; i++) {
        int16_t stage = c->executed.list[i].stage;
        if (stage >= 0 && (uint32_t)stage < fd_plan_globals(&c->plan)) {
            return fd_plan_holder(&c->plan, (uint32_t)stage);
        }
    }
    return -1;
}

/* Return whether the iteration can be compared. Evaluations run a part of
 * their plan; DeepSpeed has a separate plan for them. */
static bool
is_comparable(const comparison *c)
{
    const fd_trace_job *batch = &c->rank->jobs.list[c->iteration->job];
    bool inference = c->plan.schedule == FD_SCHEDULE_DEEPSPEED_INFERENCE;
    bool eval = (batch->flags & FD_JOB_EVAL) != 0;
    return c->planned && eval == inference
        && (batch->flags & FD_JOB_EXCEPTION) == 0
        && (c->iteration->flags & (FD_ITERATION_OWN_ORDER | FD_ITERATION_CUT))
               == 0
        && (c->iteration->flags & FD_ITERATION_ENDED) != 0;
}

static fd_status
compare_iteration(comparison *c, uint32_t end)
{
    char text[LINE - 32];
    if (!is_comparable(c)) {
        return FD_OK;
    }
    fd_status status = collect_jobs(c, end);
    int64_t index = status == FD_OK ? index_of(c) : -1;
    if (index < 0 || index >= c->plan.stages
        || c->executed.count > MOST_EXECUTED) {
        return status;
    }
    status = fd_executed_compare(c->executed.list, c->executed.count, &c->plan,
                                 (uint32_t)index, text, sizeof text);
    for (uint32_t i = 0; i < c->executed.count && status == FD_OK; i++) {
        if (c->executed.list[i].unplanned) {
            c->rank->jobs.list[c->places.list[i]].flags |= FD_JOB_UNPLANNED;
        }
    }
    if (status == FD_OK && text[0] != '\0' && c->difference[0] == '\0') {
        snprintf(c->difference, sizeof c->difference, "iteration %lld, %s",
                 (long long)number_of(
                     c->rank->jobs.list[c->iteration->job].iteration),
                 text);
    }
    return status;
}

/* Note the schedule of the latest training iteration; before the first one,
 * that of the latest evaluation. */
static void
note_schedule(comparison *c)
{
    const fd_trace_job *batch = &c->rank->jobs.list[c->iteration->job];
    bool eval = (batch->flags & FD_JOB_EVAL) != 0;
    if ((c->iteration->flags & FD_ITERATION_ENDED) == 0
        || (eval && c->trained)) {
        return;
    }
    bool follows =
        c->planned && (c->iteration->flags & FD_ITERATION_OWN_ORDER) == 0;
    c->trained = !eval;
    c->schedule = follows ? fd_schedule_name(c->plan.schedule) : NULL;
}

static fd_status
compare_all(comparison *c)
{
    const fd_trace_rank *rank = c->rank;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < rank->iterations.count && status == FD_OK; i++) {
        c->iteration = &rank->iterations.list[i];
        uint32_t end = i + 1 < rank->iterations.count
                         ? rank->iterations.list[i + 1].job
                         : rank->jobs.count;
        status = make_plan(c);
        for (uint32_t k = c->iteration->job; k < end && status == FD_OK; k++) {
            number_job(c, &c->rank->jobs.list[k]);
        }
        if (status == FD_OK) {
            status = compare_iteration(c, end);
            note_schedule(c);
        }
    }
    return status;
}

static fd_status
replace_fact(cJSON *facts, const char *key, const char *text)
{
    cJSON *value = cJSON_CreateString(text);
    if (value == NULL
        || !cJSON_ReplaceItemInObjectCaseSensitive(facts, key, value)) {
        cJSON_Delete(value);
        return FD_ENOMEM;
    }
    return FD_OK;
}

static bool
is_null(const cJSON *facts, const char *key)
{
    return cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(facts, key));
}

/* Set the three facts that the recording process did not set. */
static fd_status
complete_facts(const comparison *c, cJSON *facts)
{
    fd_status status = FD_OK;
    if (c->schedule != NULL) {
        status = replace_fact(facts, "schedule", c->schedule);
    }
    else if (is_null(facts, "note")) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(facts, "class");
        char line[LINE + 64];
        snprintf(line, sizeof line, "no plan of %s: jobs are not compared",
                 cJSON_IsString(name) ? name->valuestring : "the engine");
        status = replace_fact(facts, "note", line);
    }
    if (status == FD_OK && c->difference[0] != '\0'
        && is_null(facts, "difference")) {
        status = replace_fact(facts, "difference", c->difference);
    }
    return status;
}

static fd_status
rewrite_facts(const comparison *c, fd_trace *trace, fd_trace_meta *meta)
{
    cJSON *facts = cJSON_Parse(fd_trace_text(trace, meta->json));
    fd_buffer spelled = {.bytes = NULL};
    fd_status status = facts != NULL ? FD_OK : FD_ENOMEM;
    if (is_null(facts, "schedule")) {
        status = complete_facts(c, facts);
        char *text = status == FD_OK ? cJSON_PrintUnformatted(facts) : NULL;
        status = text != NULL ? FD_OK : FD_ENOMEM;
        if (status == FD_OK) {
            fd_json_text(&spelled, text);
            status = fd_text_pool_take(&trace->texts, &spelled, &meta->json);
        }
        cJSON_free(text);
        trace->sorted = false;
    }
    cJSON_Delete(facts);
    return status;
}

static fd_status
compare_rank(fd_trace *trace, fd_trace_rank *rank)
{
    comparison c = {.trace = trace, .rank = rank};
    fd_status status = compare_all(&c);
    for (uint32_t i = 0; i < rank->meta.count && status == FD_OK; i++) {
        if (strcmp(fd_trace_text(trace, rank->meta.list[i].key), "pipeline")
            == 0) {
            status = rewrite_facts(&c, trace, &rank->meta.list[i]);
        }
    }
    rank->iterations.count = 0;
    fd_plan_clear(&c.plan);
    fd_vector_clear(&c.executed);
    fd_vector_clear(&c.places);
    return status;
}

fd_status
fd_iterations_compare(fd_trace *trace)
{
    fd_status status = FD_OK;
    bool was_sorted = trace->sorted;
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        status = compare_rank(trace, &trace->ranks.list[i]);
    }
    return status == FD_OK && was_sorted && !trace->sorted
             ? fd_trace_sort(trace)
             : status;
}
