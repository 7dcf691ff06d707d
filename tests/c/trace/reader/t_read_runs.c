#include "check.h"
#include "fixtures.h"

#include "recording/gpu_format.h"
#include "trace/reader/recording_reading.h"

static void
clear(fd_reading *r)
{
    fd_arena_clear(&r->arena);
    fd_chunks_close(&r->file);
}

/* Ordered by the number of earlier records, not by place; of one kind and
 * owner. */
TEST(in_the_order_of_writing)
{
    FIXTURE(f, NULL, 4);
    CLEAN(clear) fd_reading r = {.part = FD_PART_TIMELINE};
    static const uint64_t firsts[] = {900, 0, 300, 0};
    fd_chunk *made[4];
    for (int i = 0; i < 4; i++) {
        OK(fd_file_chunk(&f.recording->file, FD_CHUNK_EVENTS, sizeof(fd_event),
                         FD_PAGE, 5, &made[i]));
        made[i]->first = firsts[i];
        made[i]->used = 10;
    }
    fd_chunk *other;
    OK(fd_file_chunk(&f.recording->file, FD_CHUNK_EVENTS, sizeof(fd_event),
                     FD_PAGE, 6, &other));
    OK(fd_file_chunk(&f.recording->file, FD_CHUNK_GPU_EVENTS,
                     sizeof(fd_gpu_event), FD_PAGE, 5, &other));
    OK(fd_chunks_view(&r.file, f.recording->file.base, fixture_bytes(&f),
                      NULL));
    ENTER(&r.arena);
    fd_run_list runs = fd_reading_runs(&r, FD_CHUNK_EVENTS, 5);
    static const int order[] = {1, 3, 2, 0};
    CHECK(runs.count == 4);
    for (int i = 0; i < 4; i++) {
        CHECK(runs.list[i]->header.offset == made[order[i]]->offset);
    }
}
