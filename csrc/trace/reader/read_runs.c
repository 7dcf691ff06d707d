#include "trace/reader/recording_reading.h"

FD_ORDER_POINTERS(by_first, fd_chunk_view, FD_UP(header.first),
                  FD_UP(header.offset))

fd_run_list
fd_reading_runs(fd_reading *r, uint32_t kind, uint32_t owner)
{
    fd_run_list runs = {NULL, 0, 0};
    FOR_EACH_CHUNK (r, kind, view) {
        if (view->header.owner == owner) {
            fd_arena_push(&r->arena, &runs, view);
        }
    }
    fd_vector_sort(&runs, by_first);
    return runs;
}
