#include "check.h"
#include "fixtures.h"

enum {
    IN_8K = (8 * 1024 - sizeof(fd_chunk)) / sizeof(fd_event),
    IN_16K = (16 * 1024 - sizeof(fd_chunk)) / sizeof(fd_event)
};

/* A series, in a recording with room for 24 KiB of events. */
typedef struct series {
    fixture f;
    fd_event_ring ring;
    uint64_t written;
    uint64_t lost;
} series;

static void
clear(series *s)
{
    fd_event_ring_clear(&s->ring);
    fixture_clear(&s->f);
}

static fd_status
open_series(series *s, bool overwrites)
{
    fd_timeline timeline = {.on = true, .overwrites = overwrites};
    *s = (series){.ring = {.kind = FD_CHUNK_EVENTS,
                           .record_bytes = sizeof(fd_event),
                           .owner = 7}};
    fd_status status = fixture_open(&s->f, NULL, 4);
    if (status == FD_OK) {
        fd_recording_plan(s->f.recording, &timeline);
        s->f.recording->timeline.max_bytes = 24 * 1024;
    }
    return status;
}

/* The next chunk, filled. */
static fd_chunk *
next(series *s)
{
    uint32_t lost;
    fd_chunk *chunk =
        fd_event_ring_next(&s->ring, &s->f.recording->timeline,
                           &s->f.recording->file, s->written, &lost);
    s->lost += lost;
    if (chunk != NULL) {
        chunk->used = chunk->capacity;
        s->written += chunk->capacity;
    }
    return chunk;
}

ABSORBS(the_oldest_is_reused)
{
    CLEAN(clear) series s;
    OK(open_series(&s, true));
    const fd_chunk *first = next(&s);
    const fd_chunk *second = next(&s);
    CHECK(second != NULL && first != second);
    CHECK(next(&s) == first);
    EQUAL(s.lost, IN_8K);
    EQUAL(first->first, IN_8K + IN_16K);
    CHECK(next(&s) == second);
    FIELDS(&s, (lost, IN_8K + IN_16K), (ring.chunks.count, 2));
}

ABSORBS(only_the_first_without_budget)
{
    CLEAN(clear) series s;
    OK(open_series(&s, false));
    s.f.recording->timeline.max_bytes = 0;
    CHECK(next(&s) != NULL); /* the first, in any case */
    CHECK(next(&s) == NULL);
}
