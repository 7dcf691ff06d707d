#include "events/stats/copy_table.h"

void
fd_copies_clear(fd_copies *copies)
{
    for (uint32_t i = 0; i < copies->rows.count; i++) {
        fd_digest_clear(&copies->rows.list[i].time);
        fd_digest_clear(&copies->rows.list[i].rate);
    }
    fd_vector_clear(&copies->rows);
}

static fd_status
find_row(fd_copies *copies, uint32_t rank, fd_copy_kind kind,
         fd_copy_row **row)
{
    for (uint32_t i = 0; i < copies->rows.count; i++) {
        *row = &copies->rows.list[i];
        if ((*row)->rank == rank && (*row)->kind == kind) {
            return FD_OK;
        }
    }
    fd_copy_row made = {.rank = rank, .kind = kind};
    fd_status status = fd_vector_push(&copies->rows, made);
    *row = status == FD_OK ? &copies->rows.list[copies->rows.count - 1] : NULL;
    return status;
}

fd_status
fd_copies_add(fd_copies *copies, uint32_t rank, const fd_gpu_facts *facts,
              uint64_t duration)
{
    fd_copy_row *row;
    fd_status status = find_row(copies, rank, facts->copy, &row);
    if (status == FD_OK) {
        status = fd_digest_add(&row->time, duration);
    }
    if (status != FD_OK) {
        return status;
    }
    row->unsized += !facts->has_bytes;
    row->bytes += facts->bytes;
    if (facts->has_bytes && duration > 0) {
        row->timed_bytes += facts->bytes;
        row->timed += duration;
    }
    uint64_t rate = facts->bandwidth;
    if (rate == 0 && facts->has_bytes && duration > 0) {
        rate = fd_bytes_per_second(facts->bytes, duration);
    }
    return rate > 0 ? fd_digest_add(&row->rate, rate) : FD_OK;
}
