#include "fixtures.h"

#include "gpu/gpu_figures.h"

static const fd_gpu_record *
record(const fd_gpu_figures *figures, uint32_t at)
{
    const fd_gpu_record *records = fd_chunk_records(figures->pool.chunk);
    return &records[at];
}

#define FIGURES(figures, f) \
    CLEAN(fd_gpu_figures_clear) fd_gpu_figures figures; \
    fd_gpu_figures_init(&figures, f.recording)

/* One record per context, whichever interval is first. */
ABSORBS(adds_up)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    fd_gpu_sample sample = {.event = {.context = 100},
                            .total = 30,
                            .self = 10,
                            .launch_bound = true};
    fd_gpu_figures_add(&figures, &sample);
    sample.launch_bound = false;
    fd_gpu_figures_add(&figures, &sample);
    EQUAL(figures.pool.count, 1);
    EQUAL(record(&figures, 0)->calls, 2);
    EQUAL(record(&figures, 0)->total, 60);
    EQUAL(record(&figures, 0)->self, 20);
    EQUAL(record(&figures, 0)->launch_bound, 1);
    EQUAL(figures.events.ended, 0);
}

/* Events of the timeline until its share of the file is full. */
ABSORBS(events_are_bounded)
{
    FIXTURE_TIMELINE(f, .on = true);
    f.recording->timeline.max_bytes = f.recording->timeline.bytes + 8192;
    FIGURES(figures, f);
    fd_gpu_sample sample = {.event = {.context = 100, .start = 7}};
    for (int i = 0; i < 1000; i++) {
        fd_gpu_figures_add(&figures, &sample);
    }
    uint32_t capacity = (8192 - sizeof(fd_chunk)) / sizeof(fd_gpu_event);
    EQUAL(figures.events.ring.chunks.count, 1);
    EQUAL(figures.events.ended, 1000);
    const fd_chunk *chunk = figures.events.ring.chunks.list[0];
    EQUAL(chunk->used, capacity);
    const fd_header *header = fd_file_header(&f.recording->file);
    EQUAL(header->counters[FD_COUNT_GPU_EVENTS_LOST], 1000 - capacity);
    EQUAL(record(&figures, 0)->calls, 1000);
}

/* Or the latest events are kept: those of a reused chunk are lost. */
ABSORBS(or_the_oldest_are_overwritten)
{
    FIXTURE_TIMELINE(f, .on = true, .overwrites = true);
    FIGURES(figures, f);
    uint32_t capacity = (8192 - sizeof(fd_chunk)) / sizeof(fd_gpu_event);
    for (uint32_t i = 0; i < 3 * capacity + 5; i++) {
        fd_gpu_sample sample = {.event = {.context = 100, .start = i}};
        fd_gpu_figures_add(&figures, &sample);
    }
    CHECK(figures.events.chunk != NULL);
    const fd_gpu_event *events = fd_chunk_records(figures.events.chunk);
    EQUAL(figures.events.chunk->used, 5);
    EQUAL(figures.events.chunk->first, 3 * capacity);
    EQUAL(events[4].start, 3 * capacity + 4);
    const fd_header *header = fd_file_header(&f.recording->file);
    EQUAL(header->counters[FD_COUNT_GPU_EVENTS_LOST], 3 * capacity);
}
