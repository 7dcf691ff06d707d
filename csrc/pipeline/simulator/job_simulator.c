#include "pipeline/simulator/job_simulator.h"

#include "base/sums.h"

fd_status
fd_sim_add_resource(fd_simulation *s)
{
    return fd_vector_push(&s->resources, s->jobs.count);
}

fd_status
fd_sim_add_job(fd_simulation *s, uint32_t duration)
{
    return fd_vector_push(
        &s->jobs,
        (fd_sim_job){.first = s->dependencies.count, .duration = duration});
}

fd_status
fd_sim_depend(fd_simulation *s, uint32_t job, uint32_t lag)
{
    s->jobs.list[s->jobs.count - 1].count++;
    return fd_vector_push(&s->dependencies, (fd_sim_dependency){job, lag});
}

uint32_t
fd_sim_end_of(const fd_simulation *s, uint32_t resource)
{
    return resource + 1 < s->resources.count ? s->resources.list[resource + 1]
                                             : s->jobs.count;
}

fd_status
fd_sim_prepare(fd_simulation *s)
{
    size_t jobs = (size_t)s->jobs.count + 1;
    size_t resources = (size_t)s->resources.count + 1;
    s->next = fd_calloc(resources, sizeof *s->next);
    s->blocker = fd_calloc(resources, sizeof *s->blocker);
    s->link = fd_calloc(resources, sizeof *s->link);
    s->waiting = fd_calloc(jobs, sizeof *s->waiting);
    s->order = fd_calloc(jobs, sizeof *s->order);
    s->starts = fd_calloc(jobs, sizeof *s->starts);
    s->ends = fd_calloc(jobs, sizeof *s->ends);
    s->causes = fd_calloc(jobs, sizeof *s->causes);
    if (s->next == NULL || s->blocker == NULL || s->link == NULL
        || s->waiting == NULL || s->order == NULL || s->starts == NULL
        || s->ends == NULL || s->causes == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < s->resources.count; i++) {
        s->next[i] = s->resources.list[i];
        s->blocker[i] = FD_SIM_NONE;
    }
    for (uint32_t i = 0; i < s->jobs.count; i++) {
        s->waiting[i] = FD_SIM_NONE;
    }
    return FD_OK;
}

/* Return a dependency of a job that has no position in the order yet. */
static uint32_t
unplaced(const fd_simulation *s, uint32_t job)
{
    const fd_sim_job *at = &s->jobs.list[job];
    for (uint32_t i = at->first; i < at->first + at->count; i++) {
        uint32_t other = s->dependencies.list[i].job;
        if (s->waiting[other] != FD_SIM_PLACED) {
            return other;
        }
    }
    return FD_SIM_NONE;
}

/* Add a job to the order. The resources that it blocked become ready. */
static void
place(fd_simulation *s, uint32_t job, uint32_t *ready)
{
    uint32_t woken = s->waiting[job];
    s->order[s->ordered++] = job;
    s->waiting[job] = FD_SIM_PLACED;
    while (woken != FD_SIM_NONE) {
        uint32_t next = s->link[woken];
        s->blocker[woken] = FD_SIM_NONE;
        s->link[woken] = *ready;
        *ready = woken;
        woken = next;
    }
}

/* Add the jobs of a resource to the order until one is blocked. */
static void
advance(fd_simulation *s, uint32_t resource, uint32_t *ready)
{
    uint32_t end = fd_sim_end_of(s, resource);
    uint32_t job = s->next[resource];
    uint32_t other = FD_SIM_NONE;
    while (job < end && (other = unplaced(s, job)) == FD_SIM_NONE) {
        place(s, job++, ready);
    }
    s->next[resource] = job;
    if (job < end) {
        s->blocker[resource] = other;
        s->link[resource] = s->waiting[other];
        s->waiting[other] = resource;
    }
}

bool
fd_sim_order(fd_simulation *s)
{
    uint32_t ready = FD_SIM_NONE; /* a list of resources through `link` */
    for (uint32_t i = s->resources.count; i-- > 0;) {
        if (s->blocker[i] != FD_SIM_NONE) {
            s->waiting[s->blocker[i]] = FD_SIM_NONE;
            s->blocker[i] = FD_SIM_NONE;
        }
        s->link[i] = ready;
        ready = i;
    }
    while (ready != FD_SIM_NONE) {
        uint32_t resource = ready;
        ready = s->link[resource];
        advance(s, resource, &ready);
    }
    return s->ordered == s->jobs.count;
}

void
fd_sim_run(fd_simulation *s, const int64_t *durations, const int64_t *lags)
{
    for (uint32_t i = 0; i < s->ordered; i++) {
        uint32_t job = s->order[i];
        const fd_sim_job *at = &s->jobs.list[job];
        int64_t start = at->count > 0 ? INT64_MIN : 0;
        uint32_t cause = FD_SIM_NONE;
        for (uint32_t k = at->first; k < at->first + at->count; k++) {
            const fd_sim_dependency *on = &s->dependencies.list[k];
            int64_t time = fd_plus(s->ends[on->job], lags[on->lag]);
            if (time > start) {
                start = time;
                cause = k;
            }
        }
        s->starts[job] = start;
        s->ends[job] = fd_plus(start, durations[at->duration]);
        s->causes[job] = cause;
    }
}

void
fd_sim_clear(fd_simulation *s)
{
    fd_vector_clear(&s->jobs);
    fd_vector_clear(&s->dependencies);
    fd_vector_clear(&s->resources);
    fd_free(s->next);
    fd_free(s->blocker);
    fd_free(s->link);
    fd_free(s->waiting);
    fd_free(s->order);
    fd_free(s->starts);
    fd_free(s->ends);
    fd_free(s->causes);
    *s = (fd_simulation){.next = NULL};
}
