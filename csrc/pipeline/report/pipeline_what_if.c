#include "pipeline/report/pipeline_what_if.h"

#include <string.h>

const char *const fd_if_names[FD_IF_CHANGES] = {
    "stage_faster",         "balanced", "overlapped_transfers",
    "double_micro_batches", "schedule", "move_layer"};

/* Kinds of jobs in every schedule: computations and transfers. */
static const int common[] = {FD_JOB_F, FD_JOB_B,  FD_JOB_I,
                             FD_JOB_W, FD_JOB_RA, FD_JOB_RG};

typedef struct study {
    fd_pipe_ifs *made;
    const fd_pipe_schedule *found;
    int64_t *times; /* owned; one per job of the plan */
    uint32_t globals;
} study;

/* Simulate a plan. `posted` NULL: transfers are overlapped. */
static fd_status
simulate_plan(fd_pipe_theory *theory, const fd_plan *plan,
              const int64_t *times, const bool *posted)
{
    fd_replay replay;
    fd_status status =
        posted == NULL
            ? fd_replay_run(&replay, plan, times, false, NULL)
            : fd_replay_run_posted(&replay, plan, times, posted, NULL);
    if (status == FD_OK) {
        int64_t busy = 0;
        for (uint32_t i = 0; i < plan->stages; i++) {
            busy += replay.stages[i].busy;
        }
        int64_t total = replay.makespan * (int64_t)plan->stages;
        double idle = (double)(total - busy);
        *theory =
            (fd_pipe_theory){.makespan = replay.makespan,
                             .of_total = total > 0 ? idle / (double)total : 0,
                             .of_ideal = busy > 0 ? idle / (double)busy : 0};
    }
    fd_replay_clear(&replay);
    return status;
}

static fd_status
add_change(study *s, const fd_pipe_if *change)
{
    return fd_vector_push(&s->made->list, *change);
}

/* Simulate the plan with the times in `s->times`, and compare it with the
 * base. */
static fd_status
add_simulated(study *s, fd_pipe_if change, const bool *posted)
{
    fd_pipe_theory simulated;
    fd_status status =
        simulate_plan(&simulated, &s->found->plan, s->times, posted);
    change.saves = s->made->base.makespan - simulated.makespan;
    return fd_then(status, add_change(s, &change));
}

static void
take_base(study *s)
{
    memcpy(s->times, s->found->times,
           s->found->plan.jobs.count * sizeof *s->times);
}

static int64_t
mean_price(const int64_t *prices, uint32_t count)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += prices[i];
    }
    return count == 0 ? 0 : sum / count;
}

/* Set every computation to the mean of its kind. */
static void
take_balanced(study *s)
{
    const fd_plan *plan = &s->found->plan;
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        fd_job_kind kind = (fd_job_kind)plan->jobs.list[i].kind;
        if (fd_job_is_compute(kind)) {
            s->times[i] = mean_price(s->found->prices[kind], s->globals);
        }
    }
}

/* Set the times of all jobs except computations to 0. */
static void
drop_others(study *s)
{
    const fd_plan *plan = &s->found->plan;
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        if (!fd_job_is_compute((fd_job_kind)plan->jobs.list[i].kind)) {
            s->times[i] = 0;
        }
    }
}

static fd_status
add_theories(study *s)
{
    const fd_plan *plan = &s->found->plan;
    fd_status status =
        simulate_plan(&s->made->base, plan, s->found->times, s->found->posted);
    if (status == FD_OK) {
        take_base(s);
        drop_others(s);
        status = simulate_plan(&s->made->stages, plan, s->times, NULL);
    }
    if (status == FD_OK) {
        take_balanced(s);
        status = simulate_plan(&s->made->ideal, plan, s->times, NULL);
    }
    return status;
}

static fd_status
add_faster(study *s, uint32_t index)
{
    const fd_plan *plan = &s->found->plan;
    take_base(s);
    for (uint32_t i = plan->first[index]; i < plan->first[index + 1]; i++) {
        if (fd_job_is_compute((fd_job_kind)plan->jobs.list[i].kind)) {
            s->times[i] -= s->times[i] / 10;
        }
    }
    return add_simulated(s,
                         (fd_pipe_if){.change = FD_IF_FASTER,
                                      .stage = (int32_t)index,
                                      .to = -1,
                                      .layer = -1},
                         s->found->posted);
}

static fd_status
add_balanced(study *s)
{
    take_base(s);
    take_balanced(s);
    return add_simulated(
        s,
        (fd_pipe_if){
            .change = FD_IF_BALANCED, .stage = -1, .to = -1, .layer = -1},
        s->found->posted);
}

/* Simulate a plan of any schedule with mean times of the kinds in `common`, or
 * of all kinds. */
static fd_status
simulate_priced(fd_pipe_theory *simulated, const fd_plan *plan,
                const fd_replay_prices *prices, const fd_pipe_schedule *found)
{
    int64_t *times = fd_calloc(plan->jobs.count, sizeof *times);
    bool *posted = fd_calloc(plan->jobs.count, sizeof *posted);
    fd_status status = FD_ENOMEM;
    if (times != NULL && posted != NULL) {
        bool waits = fd_pipe_schedule_posts(found, plan, posted);
        fd_replay_price(times, plan, prices);
        status = simulate_plan(simulated, plan, times, waits ? posted : NULL);
    }
    fd_free(times);
    fd_free(posted);
    return status;
}

static fd_status
add_doubled(study *s)
{
    const fd_pipe_schedule *found = s->found;
    fd_plan_request request = {.schedule = found->plan.schedule,
                               .stages = found->plan.stages,
                               .micro_batches = 2 * found->micro_batches,
                               .chunks = found->plan.chunks,
                               .group = 0};
    fd_replay_prices prices = {.of_kind = {NULL}};
    for (int kind = 0; kind < FD_JOB_KINDS; kind++) {
        prices.of_kind[kind] = found->prices[kind];
    }
    fd_plan plan;
    fd_pipe_theory one;
    fd_pipe_theory two;
    fd_status status = fd_plan_make(&plan, &request, NULL);
    fd_then(status, simulate_priced(&two, &plan, &prices, found));
    fd_then(status, simulate_priced(&one, &found->plan, &prices, found));
    if (status == FD_OK) {
        status = add_change(
            s, &(fd_pipe_if){.change = FD_IF_DOUBLED,
                             .stage = -1,
                             .to = -1,
                             .layer = -1,
                             .saves = one.makespan - two.makespan / 2});
    }
    fd_plan_clear(&plan);
    /* the plan is out of bounds */
    return status == FD_EINVAL ? FD_OK : status;
}

/* Set the times of a position for a micro-batch in all its chunks, by kind. B is
 * the sum of I and W; if they are not separate, each is half of it. */
static void
price_line(study *s, uint32_t index, int64_t of[FD_JOB_KINDS])
{
    const fd_pipe_schedule *found = s->found;
    memset(of, 0, FD_JOB_KINDS * sizeof *of);
    for (uint32_t g = 0; g < s->globals; g++) {
        if (fd_plan_holder(&found->plan, g) != index) {
            continue;
        }
        for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
            int kind = common[i];
            bool moves = fd_job_is_transfer((fd_job_kind)kind);
            int64_t price = found->prices[kind][g];
            of[kind] = !moves           ? of[kind] + price
                     : price > of[kind] ? price
                                        : of[kind];
        }
    }
    if (of[FD_JOB_I] + of[FD_JOB_W] == 0) {
        of[FD_JOB_I] = of[FD_JOB_B] / 2;
        of[FD_JOB_W] = of[FD_JOB_B] - of[FD_JOB_I];
    }
    else if (of[FD_JOB_B] == 0) {
        of[FD_JOB_B] = of[FD_JOB_I] + of[FD_JOB_W];
    }
}

/* Simulate another schedule with the same work. */
static fd_status
simulate_other(study *s, fd_schedule schedule, fd_pipe_theory *simulated)
{
    const fd_pipe_schedule *found = s->found;
    bool own = schedule == found->plan.schedule;
    fd_plan_request request = {.schedule = schedule,
                               .stages = found->plan.stages,
                               .micro_batches = found->micro_batches,
                               .chunks = own ? found->plan.chunks : 0};
    if (schedule == FD_SCHEDULE_INTERLEAVED && !own) {
        request.chunks = 2;
    }
    fd_plan plan;
    fd_status status = fd_plan_make(&plan, &request, NULL);
    uint32_t globals = status == FD_OK ? fd_plan_globals(&plan) : 0;
    int64_t *capacity =
        fd_calloc((size_t)globals * FD_JOB_KINDS + 1, sizeof *capacity);
    status = status == FD_OK && capacity == NULL ? FD_ENOMEM : status;
    fd_replay_prices prices = {.of_kind = {NULL}};
    for (uint32_t g = 0; g < globals && capacity != NULL; g++) {
        int64_t of[FD_JOB_KINDS];
        price_line(s, fd_plan_holder(&plan, g), of);
        for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
            int kind = common[i];
            bool moves = fd_job_is_transfer((fd_job_kind)kind);
            capacity[(size_t)kind * globals + g] =
                moves ? of[kind] : of[kind] / (int64_t)plan.chunks;
            prices.of_kind[kind] = &capacity[(size_t)kind * globals];
        }
    }
    fd_then(status, simulate_priced(simulated, &plan, &prices, found));
    fd_free(capacity);
    fd_plan_clear(&plan);
    return status;
}

static fd_status
add_schedules(study *s)
{
    static const fd_schedule others[] = {
        FD_SCHEDULE_GPIPE,           FD_SCHEDULE_1F1B,
        FD_SCHEDULE_DEEPSPEED_TRAIN, FD_SCHEDULE_INTERLEAVED,
        FD_SCHEDULE_ZB_H1,           FD_SCHEDULE_ZB_V};
    fd_schedule own = s->found->plan.schedule;
    fd_pipe_theory now;
    fd_status status = simulate_other(s, own, &now);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        fd_pipe_theory then;
        if (status != FD_OK || others[i] == own) {
            continue;
        }
        status = simulate_other(s, others[i], &then);
        if (status == FD_OK) {
            status = add_change(
                s, &(fd_pipe_if){.change = FD_IF_SCHEDULE,
                                 .stage = -1,
                                 .to = -1,
                                 .layer = -1,
                                 .schedule = others[i],
                                 .saves = now.makespan - then.makespan});
        }
        status = status == FD_EINVAL ? FD_OK : status; /* too few
                                                          micro-batches */
    }
    return status;
}

static double
weight_of(const fd_pipe_layers *layers, uint32_t layer)
{
    return layers->weights == NULL ? 1 : layers->weights[layer];
}

/* Return the share of a layer in the time of its stage. */
static double
part_of(const fd_pipe_layers *layers, uint32_t stage, uint32_t layer)
{
    double all = 0;
    for (uint32_t i = layers->first[stage]; i < layers->first[stage + 1];
         i++) {
        all += weight_of(layers, i);
    }
    return all > 0 ? weight_of(layers, layer) / all : 0;
}

static fd_status
add_moved(study *s, const fd_pipe_layers *layers, uint32_t from, uint32_t to)
{
    const fd_plan *plan = &s->found->plan;
    uint32_t layer =
        to > from ? layers->first[from + 1] - 1 : layers->first[from];
    double part = part_of(layers, from, layer);
    take_base(s);
    for (uint32_t i = 0; i < plan->jobs.count; i++) {
        const fd_plan_job *job = &plan->jobs.list[i];
        if (!fd_job_is_compute((fd_job_kind)job->kind)) {
            continue;
        }
        double goes = part * (double)s->found->prices[job->kind][from];
        if ((uint32_t)job->stage == from) {
            int64_t less = s->times[i] - (int64_t)goes;
            s->times[i] = less > 0 ? less : 0;
        }
        else if ((uint32_t)job->stage == to) {
            s->times[i] += (int64_t)goes;
        }
    }
    return add_simulated(s,
                         (fd_pipe_if){.change = FD_IF_MOVED,
                                      .stage = (int32_t)from,
                                      .to = (int32_t)to,
                                      .layer = (int32_t)layer},
                         s->found->posted);
}

static fd_status
add_moves(study *s, const fd_pipe_layers *layers)
{
    fd_status status = FD_OK;
    for (uint32_t g = 0; g + 1 < s->globals && status == FD_OK; g++) {
        if (layers->first[g + 1] > layers->first[g] + 1) {
            status = add_moved(s, layers, g, g + 1);
        }
        if (status == FD_OK
            && layers->first[g + 2] > layers->first[g + 1] + 1) {
            status = add_moved(s, layers, g + 1, g);
        }
    }
    return status;
}

static fd_status
add_changes(study *s, const fd_pipe_layers *layers)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < s->found->plan.stages && status == FD_OK; i++) {
        status = add_faster(s, i);
    }
    fd_then(status, add_balanced(s));
    if (status == FD_OK && s->found->posted != NULL) {
        take_base(s);
        status = add_simulated(s,
                               (fd_pipe_if){.change = FD_IF_OVERLAPPED,
                                            .stage = -1,
                                            .to = -1,
                                            .layer = -1},
                               NULL);
    }
    fd_then(status, add_doubled(s));
    fd_then(status, add_schedules(s));
    bool known = layers->first != NULL && layers->stages == s->globals;
    return status == FD_OK && known ? add_moves(s, layers) : status;
}

fd_status
fd_pipeline_ifs(fd_pipe_ifs *made, const fd_pipe_schedule *found,
                const fd_pipe_layers *layers)
{
    study s = {.made = made, .found = found};
    if (!found->known) {
        return FD_OK;
    }
    s.globals = fd_plan_globals(&found->plan);
    s.times = fd_calloc(found->plan.jobs.count, sizeof *s.times);
    fd_status status = s.times == NULL ? FD_ENOMEM : add_theories(&s);
    fd_then(status, add_changes(&s, layers));
    fd_free(s.times);
    return status;
}

void
fd_pipe_ifs_clear(fd_pipe_ifs *made)
{
    fd_vector_clear(&made->list);
}
