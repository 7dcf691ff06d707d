#include "pipeline/planner/local_search.h"

#include "pipeline/planner/bit_sets.h"

#include <math.h>
#include <string.h>

void
fd_chain_clear(fd_chain *chain)
{
    fd_free(chain->ends);
    fd_free(chain->machines);
    *chain = (fd_chain){.time = INFINITY};
}

fd_status
fd_chain_make(fd_chain *chain, uint32_t most)
{
    *chain = (fd_chain){.time = INFINITY};
    chain->ends = fd_calloc(most, sizeof *chain->ends);
    chain->machines = fd_calloc(most, sizeof *chain->machines);
    return chain->ends != NULL && chain->machines != NULL ? FD_OK : FD_ENOMEM;
}

void
fd_chain_copy(fd_chain *to, const fd_chain *from)
{
    memcpy(to->ends, from->ends, from->count * sizeof *to->ends);
    memcpy(to->machines, from->machines, from->count * sizeof *to->machines);
    to->ranks = from->ranks;
    to->count = from->count;
    to->time = from->time;
}

static bool
trains(fd_schedule schedule)
{
    return schedule == FD_SCHEDULE_GPIPE || schedule == FD_SCHEDULE_1F1B
        || schedule == FD_SCHEDULE_INTERLEAVED || schedule == FD_SCHEDULE_ZB_H1
        || schedule == FD_SCHEDULE_ZB_V;
}

fd_status
fd_trial_make(fd_trial *trial, fd_error *error)
{
    if (!trains(trial->schedule)) {
        return fd_fail(error, FD_EINVAL,
                       "%s: no schedule to plan for; gpipe, 1f1b, "
                       "interleaved, zb-h1 and zb-v are",
                       fd_schedule_name(trial->schedule));
    }
    fd_plan plan;
    fd_plan_request request = {.schedule = trial->schedule,
                               .stages = 1,
                               .micro_batches = trial->micro_batches,
                               .chunks = trial->chunks};
    fd_status status = fd_plan_make(&plan, &request, error);
    trial->chunks = plan.chunks;
    fd_plan_clear(&plan);
    if (status != FD_OK) {
        return status;
    }
    trial->most_parts = trial->most_ranks * trial->chunks;
    trial->ready = fd_calloc(trial->most_ranks, sizeof *trial->ready);
    trial->known = fd_calloc(trial->most_ranks, sizeof *trial->known);
    trial->parts = fd_calloc(trial->most_parts, sizeof *trial->parts);
    return trial->ready != NULL && trial->known != NULL && trial->parts != NULL
             ? FD_OK
             : FD_ENOMEM;
}

void
fd_trial_clear(fd_trial *trial)
{
    for (uint32_t i = 0; trial->ready != NULL && i < trial->most_ranks; i++) {
        fd_compiled_clear(&trial->ready[i]);
    }
    fd_free(trial->ready);
    fd_free(trial->known);
    fd_free(trial->parts);
    *trial = (fd_trial){.ready = NULL};
}

fd_status
fd_trial_on(fd_trial *trial, uint32_t ranks, fd_compiled **compiled)
{
    fd_compiled *ready = &trial->ready[ranks - 1];
    fd_status status = FD_OK;
    if (!trial->known[ranks - 1]) {
        fd_plan_request request = {.schedule = trial->schedule,
                                   .stages = ranks,
                                   .micro_batches = trial->micro_batches,
                                   .chunks = trial->chunks};
        status = fd_compiled_make(ready, &request, NULL);
        if (status == FD_EINVAL) {
            fd_compiled_clear(ready);
            status = FD_OK;
        }
        trial->known[ranks - 1] = true;
    }
    *compiled = ready->simulation.ordered == 0 ? NULL : ready;
    return status;
}

bool
fd_trial_fits(const fd_trial *trial, fd_compiled *compiled, uint32_t rank,
              const fd_part *parts)
{
    return trial->costs->memory == FD_MEMORY_FREE
        || fd_compiled_memory(compiled, rank, parts) <= trial->costs->room;
}

uint32_t
fd_trial_rank(const fd_trial *trial, uint32_t ranks, uint32_t part)
{
    fd_plan plan = {.schedule = trial->schedule, .stages = ranks};
    return fd_plan_holder(&plan, part);
}

static bool
is_allowed(const fd_trial *trial, const fd_chain *chain)
{
    bool allowed = chain->count > 1 || !trial->cut_once;
    for (uint32_t i = 0; i + 1 < chain->count; i++) {
        allowed = allowed && chain->ends[i] != trial->forbidden;
    }
    return allowed;
}

double
fd_trial_time(fd_trial *trial, fd_compiled *compiled, const fd_chain *chain)
{
    if (!is_allowed(trial, chain)) {
        return INFINITY;
    }
    for (uint32_t i = 0; i < chain->count; i++) {
        trial->parts[i] =
            fd_part_of(trial->costs, trial->states, fd_chain_block(chain, i),
                       chain->machines[i]);
    }
    for (uint32_t rank = 0; rank < chain->ranks; rank++) {
        if (!fd_trial_fits(trial, compiled, rank, trial->parts)) {
            return INFINITY;
        }
    }
    trial->played += compiled->simulation.jobs.count;
    return fd_compiled_time(compiled, trial->parts);
}

/* One change after the other from the best so far. */
typedef struct climb {
    fd_trial *trial;
    fd_compiled *compiled;
    fd_chain *best;
    fd_chain now; /* owned */
    bool better;
} climb;

static void
try_now(climb *c)
{
    double time = fd_trial_time(c->trial, c->compiled, &c->now);
    if (time < c->best->time * (1 - 1e-12)) {
        c->now.time = time;
        fd_chain_copy(c->best, &c->now);
        c->better = true;
    }
}

/* All places for one cut between its neighbours. */
static void
move_cut(climb *c, uint32_t part)
{
    const fd_states *states = c->trial->states;
    fd_chain_copy(&c->now, c->best);
    uint32_t before = part == 0 ? FD_NO_STATE : c->now.ends[part - 1];
    uint32_t behind = c->now.ends[part + 1];
    uint32_t first = before == FD_NO_STATE ? 0 : before + 1;
    for (uint32_t state = first; state < behind; state++) {
        if ((before == FD_NO_STATE || fd_state_follows(states, before, state))
            && fd_state_follows(states, state, behind)) {
            c->now.ends[part] = state;
            try_now(c);
        }
    }
}

static void
change_machines(climb *c, uint32_t rank, uint32_t machines)
{
    const fd_plan *plan = &c->compiled->plan;
    for (uint32_t part = 0; part < c->now.count; part++) {
        if (fd_plan_holder(plan, part) == rank) {
            c->now.machines[part] = machines;
        }
    }
}

static uint32_t
machines_of(const climb *c, const fd_chain *chain, uint32_t rank)
{
    uint32_t part = 0;
    while (fd_plan_holder(&c->compiled->plan, part) != rank) {
        part++;
    }
    return chain->machines[part];
}

static void
move_machine(climb *c, uint32_t from, uint32_t to)
{
    fd_chain_copy(&c->now, c->best);
    uint32_t less = machines_of(c, c->best, from);
    if (less > 1 && from != to) {
        change_machines(c, from, less - 1);
        change_machines(c, to, machines_of(c, c->best, to) + 1);
        try_now(c);
    }
}

fd_status
fd_trial_climb(fd_trial *trial, fd_chain *chain, uint64_t effort)
{
    climb c = {.trial = trial, .best = chain, .better = true};
    fd_status status = fd_trial_on(trial, chain->ranks, &c.compiled);
    chain->time = INFINITY;
    if (status == FD_OK && c.compiled != NULL) {
        status = fd_chain_make(&c.now, trial->most_parts);
    }
    if (status == FD_OK && c.compiled != NULL) {
        chain->time = fd_trial_time(trial, c.compiled, chain);
        uint64_t end = trial->played + effort;
        while (c.better && trial->played < end) {
            c.better = false;
            for (uint32_t i = 0; i + 1 < chain->count && trial->played < end;
                 i++) {
                move_cut(&c, i);
            }
            for (uint32_t i = 0; i < chain->ranks * chain->ranks; i++) {
                move_machine(&c, i / chain->ranks, i % chain->ranks);
            }
        }
    }
    fd_chain_clear(&c.now);
    return status;
}
