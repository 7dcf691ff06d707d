#include "pipeline/report/pipeline_dependencies.h"

#include "base/hash.h"

/* Computations and receives by line, iteration, stage, micro-batch and
 * job_role(). */
typedef struct table {
    uint32_t *slots; /* owned; job plus 1 */
    uint32_t mask;
} table;

enum { FORWARD, BACKWARD, TAKES_FORWARD, TAKES_BACKWARD, NO_ROLE };

static int
job_role(const fd_pipe_job *job)
{
    if (job->micro_batch < 0 || job->stage < 0) {
        return NO_ROLE;
    }
    switch (job->kind) {
    case FD_JOB_F:
        return FORWARD;
    case FD_JOB_B:
    case FD_JOB_I:
        return BACKWARD;
    case FD_JOB_RA:
        return TAKES_FORWARD;
    case FD_JOB_RG:
        return TAKES_BACKWARD;
    default:
        return NO_ROLE;
    }
}

static uint32_t *
slot_of(const table *t, const fd_pipe *p, const fd_pipe_job *job, int of_role,
        int32_t stage)
{
    uint32_t line = p->ranks.list[job->at].line;
    uint64_t where =
        (uint64_t)(uint32_t)job->iteration << 32 | (uint32_t)job->micro_batch;
    uint64_t which =
        (uint64_t)line << 32 | (uint32_t)stage << 2 | (uint32_t)of_role;
    uint32_t at =
        (uint32_t)fd_hash_word(fd_hash_word(where) ^ which) & t->mask;
    while (t->slots[at] != 0) {
        const fd_pipe_job *there = &p->jobs.list[t->slots[at] - 1];
        if (there->iteration == job->iteration && there->stage == stage
            && there->micro_batch == job->micro_batch
            && job_role(there) == of_role
            && p->ranks.list[there->at].line == line) {
            break;
        }
        at = (at + 1) & t->mask;
    }
    return &t->slots[at];
}

static uint32_t
producer_of(const table *t, const fd_pipe *p, const fd_pipe_job *job)
{
    int of = job_role(job);
    if (of != FORWARD && of != BACKWARD) {
        return FD_NO_PIPE_JOB;
    }
    int taken = of == FORWARD ? TAKES_FORWARD : TAKES_BACKWARD;
    int32_t from = of == FORWARD ? job->stage - 1 : job->stage + 1;
    if (from < 0 || *slot_of(t, p, job, taken, job->stage) != 0) {
        return FD_NO_PIPE_JOB;
    }
    uint32_t found = *slot_of(t, p, job, of, from);
    return found == 0 || p->jobs.list[found - 1].at == job->at ? FD_NO_PIPE_JOB
                                                               : found - 1;
}

fd_status
fd_pipeline_find_producers(uint32_t *producers, const fd_pipe *p)
{
    uint32_t capacity = 16;
    while (capacity / 2 < p->jobs.count) {
        capacity *= 2;
    }
    table t = {fd_calloc(capacity, sizeof *t.slots), capacity - 1};
    if (t.slots == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        int of = job_role(job);
        if (of != NO_ROLE) {
            uint32_t *slot = slot_of(&t, p, job, of, job->stage);
            *slot = *slot == 0 ? i + 1 : *slot;
        }
    }
    for (uint32_t i = 0; i < p->jobs.count; i++) {
        producers[i] = producer_of(&t, p, &p->jobs.list[i]);
    }
    fd_free(t.slots);
    return FD_OK;
}

fd_pipe_dependency
fd_pipeline_dependency(const fd_pipe *p, const uint32_t *producers,
                       uint32_t next, uint32_t last)
{
    while (next + 1 < last && !fd_pipe_computes(&p->jobs.list[next])
           && !fd_pipe_moves(&p->jobs.list[next])) {
        next++;
    }
    const fd_pipe_job *job = &p->jobs.list[next];
    const fd_pipe_job *from = NULL;
    if (fd_pipe_moves(job) && !fd_pipe_sends(job)
        && job->other != FD_NO_PIPE_JOB
        && (job->flags & FD_PIPE_POSTED) == 0) {
        from = &p->jobs.list[job->other];
        return (fd_pipe_dependency){from->start, from->at};
    }
    if (producers[next] != FD_NO_PIPE_JOB) {
        from = &p->jobs.list[producers[next]];
        return (fd_pipe_dependency){from->end, from->at};
    }
    return (fd_pipe_dependency){0, FD_NO_PIPE_JOB};
}

bool
fd_pipeline_is_same_call(const fd_pipe_job *a, const fd_pipe_job *b)
{
    return (a->flags & b->flags & FD_PIPE_FUSED) != 0 && a->at == b->at
        && a->start == b->start && a->end == b->end;
}
