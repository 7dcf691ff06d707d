#include "fixtures.h"

#include "gpu/gpu_events.h"

#define EVENTS(events, f) \
    CLEAN(fd_gpu_events_clear) fd_gpu_events events; \
    fd_gpu_events_init(&events, f.recording, FD_CHUNK_GPU_EVENTS, \
                       sizeof(fd_gpu_event))

ABSORBS(events_need_a_timeline)
{
    FIXTURE(f, NULL, 4);
    EVENTS(events, f);
    fd_gpu_events_add(&events, &(fd_gpu_event){.context = 100});
    EQUAL(events.ended, 0);
    CHECK(events.chunk == NULL);
}

ABSORBS(events_are_bounded)
{
    FIXTURE_TIMELINE(f, .on = true);
    f.recording->timeline.max_bytes = f.recording->timeline.bytes + 8192;
    EVENTS(events, f);
    for (uint32_t i = 0; i < 1000; i++) {
        fd_gpu_events_add(&events, &(fd_gpu_event){.context = i});
    }
    const fd_header *header = fd_file_header(&f.recording->file);
    EQUAL(events.ended, 1000);
    EQUAL(events.ring.chunks.count, 1);
    const fd_chunk *chunk = events.ring.chunks.list[0];
    EQUAL(chunk->kind, FD_CHUNK_GPU_EVENTS);
    EQUAL(chunk->used + header->counters[FD_COUNT_GPU_EVENTS_LOST], 1000);
}
