#include "pipeline/planner/local_search.h"

#include "pipeline/cuts/bit_sets.h"

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
fd_evaluator_make(fd_evaluator *evaluator, fd_error *error)
{
    if (!trains(evaluator->schedule)) {
        return fd_fail(error, FD_EINVAL,
                       "%s: no schedule to plan for; gpipe, 1f1b, "
                       "interleaved, zb-h1 and zb-v are",
                       fd_schedule_name(evaluator->schedule));
    }
    fd_plan plan;
    fd_plan_request request = {.schedule = evaluator->schedule,
                               .stages = 1,
                               .micro_batches = evaluator->micro_batches,
                               .chunks = evaluator->chunks};
    fd_status status = fd_plan_make(&plan, &request, error);
    evaluator->chunks = plan.chunks;
    fd_plan_clear(&plan);
    if (status != FD_OK) {
        return status;
    }
    evaluator->most_parts = evaluator->most_ranks * evaluator->chunks;
    evaluator->ready =
        fd_calloc(evaluator->most_ranks, sizeof *evaluator->ready);
    evaluator->known =
        fd_calloc(evaluator->most_ranks, sizeof *evaluator->known);
    evaluator->parts =
        fd_calloc(evaluator->most_parts, sizeof *evaluator->parts);
    return evaluator->ready != NULL && evaluator->known != NULL
                && evaluator->parts != NULL
             ? FD_OK
             : FD_ENOMEM;
}

void
fd_evaluator_clear(fd_evaluator *evaluator)
{
    for (uint32_t i = 0; evaluator->ready != NULL && i < evaluator->most_ranks;
         i++) {
        fd_compiled_clear(&evaluator->ready[i]);
    }
    fd_free(evaluator->ready);
    fd_free(evaluator->known);
    fd_free(evaluator->parts);
    *evaluator = (fd_evaluator){.ready = NULL};
}

fd_status
fd_evaluator_schedule(fd_evaluator *evaluator, uint32_t ranks,
                      fd_compiled **compiled)
{
    fd_compiled *ready = &evaluator->ready[ranks - 1];
    fd_status status = FD_OK;
    if (!evaluator->known[ranks - 1]) {
        fd_plan_request request = {.schedule = evaluator->schedule,
                                   .stages = ranks,
                                   .micro_batches = evaluator->micro_batches,
                                   .chunks = evaluator->chunks};
        status = fd_compiled_make(ready, &request, NULL);
        if (status == FD_EINVAL) {
            fd_compiled_clear(ready);
            status = FD_OK;
        }
        evaluator->known[ranks - 1] = true;
    }
    *compiled = ready->simulation.ordered == 0 ? NULL : ready;
    return status;
}

bool
fd_evaluator_fits(const fd_evaluator *evaluator, fd_compiled *compiled,
                  uint32_t rank, const fd_part *parts)
{
    return evaluator->costs->memory == FD_MEMORY_FREE
        || fd_compiled_memory(compiled, rank, parts)
               <= evaluator->costs->capacity;
}

uint32_t
fd_evaluator_rank(const fd_evaluator *evaluator, uint32_t ranks, uint32_t part)
{
    fd_plan plan = {.schedule = evaluator->schedule, .stages = ranks};
    return fd_plan_holder(&plan, part);
}

static bool
is_allowed(const fd_evaluator *evaluator, const fd_chain *chain)
{
    bool allowed = chain->count > 1 || !evaluator->cut_once;
    for (uint32_t i = 0; i + 1 < chain->count; i++) {
        allowed = allowed && chain->ends[i] != evaluator->forbidden;
    }
    return allowed;
}

double
fd_evaluator_time(fd_evaluator *evaluator, fd_compiled *compiled,
                  const fd_chain *chain)
{
    if (!is_allowed(evaluator, chain)) {
        return INFINITY;
    }
    for (uint32_t i = 0; i < chain->count; i++) {
        evaluator->parts[i] =
            fd_part_of(evaluator->costs, evaluator->states,
                       fd_chain_block(chain, i), chain->machines[i]);
    }
    for (uint32_t rank = 0; rank < chain->ranks; rank++) {
        if (!fd_evaluator_fits(evaluator, compiled, rank, evaluator->parts)) {
            return INFINITY;
        }
    }
    evaluator->simulated += compiled->simulation.jobs.count;
    return fd_compiled_time(compiled, evaluator->parts);
}

/* The search: single changes of the best plan so far. */
typedef struct climb {
    fd_evaluator *evaluator;
    fd_compiled *compiled;
    fd_chain *best;
    fd_chain now; /* owned */
    bool better;
} climb;

static void
try_now(climb *c)
{
    double time = fd_evaluator_time(c->evaluator, c->compiled, &c->now);
    if (time < c->best->time * (1 - 1e-12)) {
        c->now.time = time;
        fd_chain_copy(c->best, &c->now);
        c->better = true;
    }
}

/* Try all positions of one cut between its neighbours. */
static void
move_cut(climb *c, uint32_t part)
{
    const fd_states *states = c->evaluator->states;
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
fd_local_search(fd_evaluator *evaluator, fd_chain *chain, uint64_t effort)
{
    climb c = {.evaluator = evaluator, .best = chain, .better = true};
    fd_status status =
        fd_evaluator_schedule(evaluator, chain->ranks, &c.compiled);
    chain->time = INFINITY;
    if (status == FD_OK && c.compiled != NULL) {
        status = fd_chain_make(&c.now, evaluator->most_parts);
    }
    if (status == FD_OK && c.compiled != NULL) {
        chain->time = fd_evaluator_time(evaluator, c.compiled, chain);
        uint64_t end = evaluator->simulated + effort;
        while (c.better && evaluator->simulated < end) {
            c.better = false;
            for (uint32_t i = 0;
                 i + 1 < chain->count && evaluator->simulated < end; i++) {
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
