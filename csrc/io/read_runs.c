#include "io/reading.h"

#include <stdlib.h>

static int
by_first(const void *left, const void *right)
{
    const fd_run *a = left;
    const fd_run *b = right;
    uint64_t at = a->view->header->offset;
    uint64_t other = b->view->header->offset;
    return a->first != b->first ? (a->first < b->first ? -1 : 1)
           : at != other        ? (at < other ? -1 : 1)
                                : 0;
}

static fd_status
add_runs(const fd_chunks *chunks, uint32_t kind, uint32_t owner,
         fd_run_list *runs)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK_OF(chunks, kind, view) {
        if (view->header->owner == owner && status == FD_OK) {
            uint64_t first = atomic_load_explicit(&view->header->first,
                                                  memory_order_acquire);
            status = fd_vector_push(runs, (fd_run){view, first});
        }
    }
    return status;
}

fd_status
fd_reading_runs(const fd_reading *r, uint32_t kind, uint32_t owner,
                fd_run_list *runs)
{
    fd_status status = add_runs(&r->file, kind, owner, runs);
    if (status == FD_OK) {
        status = add_runs(&r->spill, kind, owner, runs);
    }
    if (runs->count > 0) {
        qsort(runs->list, runs->count, sizeof *runs->list, by_first);
    }
    return status;
}

bool
fd_run_is_stale(const fd_run *run)
{
    const fd_chunk *header = run->view->header;
    atomic_thread_fence(memory_order_acquire);
    return header->used < run->view->used || header->first != run->first;
}
