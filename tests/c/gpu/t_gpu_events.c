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

/* Either the later events are lost, or those of a reused chunk. */
ABSORBS(events_are_bounded)
{
    enum { CAPACITY = (8192 - sizeof(fd_chunk)) / sizeof(fd_gpu_event) };
    static const uint32_t used[] = {CAPACITY, 5};
    for (uint32_t i = 0; i < 2; i++) {
        FIXTURE_TIMELINE(f, .on = true, .overwrites = i == 1);
        f.recording->timeline.max_bytes = f.recording->timeline.bytes + 8192;
        EVENTS(events, f);
        for (uint32_t at = 0; at < 3 * CAPACITY + 5; at++) {
            fd_gpu_events_add(&events, &(fd_gpu_event){.start = at});
        }
        FIELDS(&events, (ended, 3 * CAPACITY + 5), (ring.chunks.count, 1));
        const fd_chunk *chunk = events.ring.chunks.list[0];
        const fd_gpu_event *list = (const void *)(chunk + 1);
        FIELDS(chunk, (kind, FD_CHUNK_GPU_EVENTS), (used, used[i]),
               (first, i * 3 * CAPACITY));
        EQUAL(list[4].start, i * 3 * CAPACITY + 4);
        EQUAL(fd_file_header(&f.recording->file)
                  ->counters[FD_COUNT_GPU_EVENTS_LOST],
              3 * CAPACITY + 5 - used[i]);
    }
}
