#include "pipeline/report/pipeline_memory.h"

#include "base/map.h"

typedef struct holding {
    fd_map slots; /* (stage, micro-batch) to its place in bytes, plus 1 */
    FD_VECTOR(uint64_t) bytes;
    uint32_t in_flight;
    uint64_t sum;
} holding;

static uint64_t *
bytes_of(holding *h, const fd_pipe_job *job)
{
    uint64_t key =
        ((uint64_t)(uint32_t)job->stage << 32 | (uint32_t)job->micro_batch)
        + 1;
    uint32_t slot = fd_map_get(&h->slots, key);
    if (slot != 0) {
        return &h->bytes.list[slot - 1];
    }
    if (fd_vector_push(&h->bytes, 0) != FD_OK
        || fd_map_put(&h->slots, key, h->bytes.count) != FD_OK) {
        return NULL;
    }
    return &h->bytes.list[h->bytes.count - 1];
}

static bool
has_weights_apart(const fd_pipe *p, fd_pipe_cell cell)
{
    for (uint32_t i = cell.first; i < cell.end; i++) {
        if (p->jobs.list[i].kind == FD_JOB_W) {
            return true;
        }
    }
    return false;
}

static fd_status
step(holding *h, const fd_pipe_job *job, bool apart)
{
    if (job->micro_batch < 0 || job->stage < 0) {
        return FD_OK;
    }
    bool over = job->kind == FD_JOB_B || job->kind == FD_JOB_W
             || (job->kind == FD_JOB_I && !apart);
    if (over) {
        h->in_flight -= h->in_flight > 0;
    }
    h->in_flight += job->kind == FD_JOB_F;
    if (over || (fd_pipe_moves(job) && job->kind != FD_JOB_SG)) {
        uint64_t *bytes = bytes_of(h, job);
        if (bytes == NULL) {
            return FD_ENOMEM;
        }
        h->sum = over ? h->sum - *bytes : h->sum + job->bytes;
        *bytes = over ? 0 : *bytes + job->bytes;
    }
    return FD_OK;
}

fd_status
fd_pipeline_in_flight(const fd_pipe *p, fd_pipe_cell cell, uint32_t *in_flight,
                      uint64_t *bytes)
{
    holding h = {.in_flight = 0};
    bool apart = has_weights_apart(p, cell);
    fd_status status = FD_OK;
    *in_flight = 0;
    *bytes = 0;
    for (uint32_t i = cell.first; i < cell.end && status == FD_OK; i++) {
        status = step(&h, &p->jobs.list[i], apart);
        *in_flight = h.in_flight > *in_flight ? h.in_flight : *in_flight;
        *bytes = h.sum > *bytes ? h.sum : *bytes;
    }
    fd_map_clear(&h.slots);
    fd_vector_clear(&h.bytes);
    return status;
}
