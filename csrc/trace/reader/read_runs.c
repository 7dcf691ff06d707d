#include "trace/reader/recording_reading.h"

#include <stdlib.h>

static int
by_first(const void *left, const void *right)
{
    const fd_chunk *a = &((const fd_run *)left)->view->header;
    const fd_chunk *b = &((const fd_run *)right)->view->header;
    return a->first != b->first   ? (a->first < b->first ? -1 : 1)
         : a->offset != b->offset ? (a->offset < b->offset ? -1 : 1)
                                  : 0;
}

static fd_status
add_runs(fd_chunks *chunks, uint32_t kind, uint32_t owner, fd_run_list *runs)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK_OF(chunks, kind, view)
    {
        if (view->header.owner == owner && status == FD_OK) {
            status = fd_vector_push(runs, (fd_run){chunks, view});
        }
    }
    return status;
}

fd_status
fd_reading_runs(fd_reading *r, uint32_t kind, uint32_t owner,
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
