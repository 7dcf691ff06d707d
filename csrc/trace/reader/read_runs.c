#include "trace/reader/recording_reading.h"

static int
by_first(const void *left, const void *right)
{
    const fd_chunk *a = &(*(const fd_chunk_view *const *)left)->header;
    const fd_chunk *b = &(*(const fd_chunk_view *const *)right)->header;
    int order = FD_ORDER(a->first, b->first);
    return order != 0 ? order : FD_ORDER(a->offset, b->offset);
}

fd_status
fd_reading_runs(fd_reading *r, uint32_t kind, uint32_t owner,
                fd_run_list *runs)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(r, kind, view)
    {
        if (view->header.owner == owner && status == FD_OK) {
            status = fd_vector_push(runs, view);
        }
    }
    fd_vector_sort(runs, by_first);
    return status;
}
