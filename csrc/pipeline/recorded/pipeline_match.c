#include "pipeline/recorded/pipeline_match.h"

#include "base/hash.h"

/* A table of the first job of each end of a transfer. */
typedef struct end_table {
    uint32_t *slots; /* owned; index of a job + 1 */
    uint32_t mask;
} end_table;

static bool
job_fits(const fd_pipe_job *job)
{
    return fd_pipe_moves(job) && job->micro_batch >= 0 && job->stage >= 0
        && job->peer >= 0;
}

static bool
is_gradient(const fd_pipe_job *job)
{
    return job->kind == FD_JOB_SG || job->kind == FD_JOB_RG;
}

static int32_t
lower_stage(const fd_pipe_job *job)
{
    return job->stage < job->peer ? job->stage : job->peer;
}

static bool
same_transfer(const fd_pipe *p, const fd_pipe_job *a, const fd_pipe_job *b)
{
    return a->iteration == b->iteration && a->micro_batch == b->micro_batch
        && lower_stage(a) == lower_stage(b) && is_gradient(a) == is_gradient(b)
        && p->ranks.list[a->at].line == p->ranks.list[b->at].line;
}

static uint32_t
hash_of(const fd_pipe *p, const fd_pipe_job *job, bool sends)
{
    uint64_t where =
        (uint64_t)(uint32_t)job->iteration << 32 | (uint32_t)job->micro_batch;
    uint64_t which = (uint64_t)p->ranks.list[job->at].line << 32
                   | (uint32_t)lower_stage(job) << 2
                   | (uint32_t)is_gradient(job) << 1 | sends;
    return (uint32_t)fd_hash_word(fd_hash_word(where) ^ which);
}

/* Return the slot of one end of the transfer of `job`. */
static uint32_t *
slot_of(const end_table *table, const fd_pipe *p, const fd_pipe_job *job,
        bool sends)
{
    uint32_t at = hash_of(p, job, sends) & table->mask;
    while (table->slots[at] != 0) {
        const fd_pipe_job *there = &p->jobs.list[table->slots[at] - 1];
        if (fd_pipe_sends(there) == sends && same_transfer(p, there, job)) {
            break;
        }
        at = (at + 1) & table->mask;
    }
    return &table->slots[at];
}

static fd_status
open_table(end_table *table, const fd_pipe *p)
{
    uint32_t capacity = 16;
    while (capacity / 2 < p->jobs.count) {
        capacity *= 2;
    }
    table->mask = capacity - 1;
    table->slots = fd_calloc(capacity, sizeof *table->slots);
    return table->slots == NULL ? FD_ENOMEM : FD_OK;
}

/* Join both ends of each transfer. `firsts`: per job, the first job of its end
 * + 1. */
static fd_status
join_ends(fd_pipe_matches *found, fd_pipe *p, const end_table *table,
          const uint32_t *firsts)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < p->jobs.count && status == FD_OK; i++) {
        fd_pipe_job *job = &p->jobs.list[i];
        if (!fd_pipe_moves(job)) {
            continue;
        }
        bool sends = fd_pipe_sends(job);
        uint32_t other = job_fits(job) ? *slot_of(table, p, job, !sends) : 0;
        uint32_t first = firsts[i];
        if (other == 0) {
            status = fd_vector_push(&found->alone, i);
            continue;
        }
        if (first - 1 != i
            && !(p->jobs.list[first - 1].flags & FD_PIPE_POSTED)) {
            /* A second send or receive of the same transfer stays
             * unmatched. */
            status = fd_vector_push(&found->alone, i);
            continue;
        }
        job->other = other - 1;
        if (sends && first - 1 == i) {
            found->matched++;
            found->local += p->jobs.list[other - 1].at == job->at;
        }
    }
    return status;
}

fd_status
fd_pipeline_match(fd_pipe_matches *found, fd_pipe *p)
{
    end_table table = {.slots = NULL};
    uint32_t *firsts = fd_calloc((size_t)p->jobs.count + 1, sizeof *firsts);
    fd_status status = firsts == NULL ? FD_ENOMEM : open_table(&table, p);
    for (uint32_t i = 0; i < p->jobs.count && status == FD_OK; i++) {
        const fd_pipe_job *job = &p->jobs.list[i];
        if (job_fits(job)) {
            uint32_t *slot = slot_of(&table, p, job, fd_pipe_sends(job));
            *slot = *slot == 0 ? i + 1 : *slot;
            firsts[i] = *slot;
        }
    }
    fd_then(status, join_ends(found, p, &table, firsts));
    fd_free(firsts);
    fd_free(table.slots);
    return status;
}

void
fd_pipe_matches_clear(fd_pipe_matches *found)
{
    fd_vector_clear(&found->alone);
}
