#include "check.h"
#include "fixtures.h"

#include <string.h>
#include <unistd.h>

enum {
    IN_8K = (8 * 1024 - sizeof(fd_chunk)) / sizeof(fd_event),
    IN_16K = (16 * 1024 - sizeof(fd_chunk)) / sizeof(fd_event),
    IN_32K = (32 * 1024 - sizeof(fd_chunk)) / sizeof(fd_event)
};

/* A series, in a recording with room for 24 KiB of events and a side file of
 * so many bytes. */
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
open_series(series *s, const char *path, size_t max_spill, bool overwrites)
{
    fd_timeline timeline = {
        .on = true, .overwrites = overwrites, .max_spill = max_spill};
    *s = (series){.ring = {.kind = FD_CHUNK_EVENTS,
                           .record_bytes = sizeof(fd_event),
                           .owner = 7}};
    fd_status status = fixture_open(&s->f, path, 4);
    if (status == FD_OK) {
        status = fd_recording_plan(s->f.recording, &timeline, NULL);
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

static bool
is_in(const fd_file *file, const fd_chunk *chunk)
{
    const char *at = (const char *)chunk;
    return chunk != NULL && at > file->base
        && at < file->base + file->capacity;
}

static void
in_the_side_file_when_the_share_is_used_up(void)
{
    CLEAN(clear) series s;
    OK(open_series(&s, "spilling.fd", 100 * 1024, false));
    const fd_file *file = &s.f.recording->file;
    CHECK(is_in(file, next(&s)));
    CHECK(is_in(file, next(&s)));
    const fd_chunk *third = next(&s);
    CHECK(is_in(file->spill, third));
    EQUAL(third->bytes, 32 * 1024);
    EQUAL(third->first, IN_8K + IN_16K);
    EQUAL(third->owner, 7);
    EQUAL(third->offset, FD_PAGE);
    CHECK(next(&s) != NULL); /* 64 KiB: 4 KiB are left */
    CHECK(next(&s) == NULL);
    EQUAL(fd_file_header(file)->counters[FD_COUNT_DISK_FULL], 0);
    EQUAL(memcmp(fd_file_header(file->spill)->id, fd_file_header(file)->id, 1),
          fd_file_header(file->spill)->id[0] - 0xAB);
    fixture_stop(&s.f);
    EQUAL(access("spilling.fd.events", F_OK), 0);
}

static void
the_oldest_is_reused(void)
{
    CLEAN(clear) series s;
    OK(open_series(&s, NULL, 0, true));
    const fd_chunk *first = next(&s);
    const fd_chunk *second = next(&s);
    CHECK(second != NULL && first != second);
    CHECK(next(&s) == first);
    EQUAL(s.lost, IN_8K);
    EQUAL(first->first, IN_8K + IN_16K);
    CHECK(next(&s) == second);
    EQUAL(s.lost, IN_8K + IN_16K);
    EQUAL(s.ring.chunks.count, 2);
}

static void
only_the_first_without_budget(void)
{
    CLEAN(clear) series s;
    OK(open_series(&s, NULL, 0, false));
    s.f.recording->timeline.max_bytes = 0;
    CHECK(next(&s) != NULL); /* the first, in any case */
    CHECK(next(&s) == NULL);
}

/* Not for a recording in memory, which has no name. */
static void
recording_without_side_file(void)
{
    CLEAN(clear) series s;
    OK(open_series(&s, NULL, 100 * 1024, false));
    CHECK(s.f.recording->file.spill == NULL);
    CHECK(next(&s) != NULL && next(&s) != NULL);
    CHECK(next(&s) == NULL);
}

static void
unneeded_side_file_is_removed(void)
{
    CLEAN(clear) series s;
    OK(open_series(&s, "plenty.fd", 100 * 1024, false));
    CHECK(next(&s) != NULL);
    EQUAL(access("plenty.fd.events", F_OK), 0);
    fixture_stop(&s.f);
    CHECK(access("plenty.fd.events", F_OK) != 0);
}

/* A recording that replaces another removes its side file; another kind of
 * file stays, and is an error. */
static void
side_file_of_a_replaced_recording(void)
{
    CLEAN(clear) series s;
    CLEAN(fixture_clear) fixture again = {.recording = NULL};
    unlink("twice.fd.events"); /* no recording: an error */
    OK(open_series(&s, "twice.fd", 100 * 1024, false));
    CHECK(next(&s) != NULL && next(&s) != NULL && next(&s) != NULL);
    fixture_stop(&s.f);
    OK(fixture_open(&again, "twice.fd", 4));
    CHECK(access("twice.fd.events", F_OK) != 0);
    fixture_stop(&again);
    OK(fixture_write("twice.fd.events", "my diary", 8));
    fixture_clear(&again);
    OK(fixture_open(&again, "twice.fd", 4));
    EQUAL(access("twice.fd.events", F_OK), 0);
    fixture_clear(&again);
    clear(&s);
    STATUS(open_series(&s, "twice.fd", 100 * 1024, false), FD_EFORMAT);
    EQUAL(access("twice.fd.events", F_OK), 0);
}

/* Written through old pointers by a forked child. */
static void
nothing_of_a_child_gets_there(void)
{
    CLEAN(clear) series s;
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    OK(open_series(&s, "child.fd", 100 * 1024, false));
    CHECK(next(&s) != NULL && next(&s) != NULL);
    fd_chunk *chunk = next(&s);
    CHECK(chunk != NULL);
    fd_recording_detach(s.f.recording);
    memset(fd_chunk_records(chunk), 0xEE, 100);
    OK(fixture_read("child.fd.events", &bytes));
    EQUAL(bytes.bytes[FD_PAGE + sizeof(fd_chunk)], 0);
    EQUAL(chunk->used, 0);
}

RUN(ABSORBS(in_the_side_file_when_the_share_is_used_up),
    ABSORBS(the_oldest_is_reused), ABSORBS(only_the_first_without_budget),
    ABSORBS(recording_without_side_file),
    ABSORBS(unneeded_side_file_is_removed),
    ABSORBS(side_file_of_a_replaced_recording),
    ABSORBS(nothing_of_a_child_gets_there))
