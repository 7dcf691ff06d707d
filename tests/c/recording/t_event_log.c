#include "check.h"
#include "fixtures.h"

#include "recording/open_entries.h"

enum {
    FIRST = (8 * 1024 - sizeof(fd_chunk)) / sizeof(fd_event),
    SECOND = (16 * 1024 - sizeof(fd_chunk)) / sizeof(fd_event)
};

static const fd_event *
event_at(const fd_tree *tree, uint32_t chunk, uint32_t at)
{
    const fd_event *list =
        fd_chunk_records(tree->events.ring.chunks.list[chunk]);
    return &list[at];
}

ABSORBS(lines_in_the_order_of_their_ends)
{
    FIXTURE_TIMELINE(f, .on = true);
    fd_context *outer =
        fixture_enter_node(f.main, fixture_function(&f, "a", 0));
    fixture_work(10);
    fixture_call(f.main, fixture_function(&f, "b", 0), 5);
    fixture_work(1);
    fixture_leave(f.main);
    FIELDS(f.main, (record->events, 2), (events.chunk->used, 2));
    EQUAL(event_at(f.main, 0, 0)->ticks, 5);
    EQUAL(event_at(f.main, 0, 1)->ticks, 16);
    EQUAL(event_at(f.main, 0, 1)->context, fd_tree_id(f.main, outer));
    EQUAL(event_at(f.main, 0, 0)->start, event_at(f.main, 0, 1)->start + 10);
    EQUAL(event_at(f.main, 0, 0)->kind, FD_EVENT_CALL);
}

ABSORBS(short_and_folded_calls_have_no_events)
{
    FIXTURE_TIMELINE(f, .on = true, .shortest = {7});
    uint32_t plain = fixture_function(&f, "plain", 0);
    fixture_call(f.main, plain, 6);
    fixture_call(f.main, plain, 7);
    EQUAL(f.main->record->events, 1);
    uint32_t fold = fixture_function(&f, "import", FD_NODE_FOLD);
    fixture_enter_node(f.main, fold);
    fixture_call(f.main, plain, 20);
    fixture_leave(f.main);
    FIELDS(f.main->record, (events, 2), (events_lost, 0));
}

ABSORBS(without_room_the_newest_are_lost)
{
    FIXTURE_TIMELINE(f, .on = true);
    uint32_t node = fixture_function(&f, "a", 0);
    for (int i = 0; i < FIRST + 9; i++) {
        fixture_call(f.main, node, 1);
    }
    FIELDS(f.main, (events.ring.chunks.count, 1), (record->events, FIRST + 9),
           (record->events_lost, 9));
    EQUAL(event_at(f.main, 0, 0)->start + FIRST - 1,
          event_at(f.main, 0, FIRST - 1)->start);
}

ABSORBS(or_the_oldest_are_overwritten)
{
    FIXTURE_TIMELINE(f, .on = true, .overwrites = true,
                     .max_bytes = 24 * 1024);
    uint32_t node = fixture_function(&f, "a", 0);
    uint32_t both = FIRST + (16 * 1024 - 64) / 24;
    for (uint32_t i = 0; i < both + 9; i++) {
        fixture_call(f.main, node, 1);
    }
    FIELDS(f.main, (events.ring.chunks.count, 2),
           (events.ring.chunks.list[0]->first, both),
           (events.ring.chunks.list[0]->used, 9),
           (events.ring.chunks.list[1]->first, FIRST),
           (record->events, both + 9), (record->events_lost, FIRST));
}

/* Calls open at the end of a thread have ended; a range that moves down has
 * not, and contracted frames have no line. */
ABSORBS(entries_other_than_ends)
{
    FIXTURE_TIMELINE(f, .on = true);
    fd_context *context =
        fixture_enter_node(f.main, fixture_function(&f, "a", 0));
    uint32_t id = fd_tree_id(f.main, context);
    fd_tree_push(f.main, context, id, &f, FD_ENTRY_FRAME);
    fd_tree_push(f.main, context, id, NULL, FD_ENTRY_RANGE);
    fd_tree_push(f.main, context, id, NULL,
                 FD_ENTRY_FRAME | FD_ENTRY_CONTRACTED);
    fd_stack_close(f.main, 1);
    EQUAL(fd_tree_depth(f.main), 2);
    EQUAL(f.main->record->events, 1);
    fd_tree_release(f.main);
    EQUAL(f.main->record->events, 3);
}

ABSORBS(steps_have_lines_too)
{
    FIXTURE_TIMELINE(f, .on = true);
    fixture_work(30);
    CHECK(fd_steps_end(&f.steps, f.main, FD_STEPS_ENGINE));
    const fd_event *event = event_at(f.main, 0, 0);
    EQUAL(f.main->record->events, 1);
    FIELDS(event, (kind, FD_EVENT_STEP), (source, FD_STEPS_ENGINE),
           (ticks, 30));
}

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
    EQUAL(s.lost, FIRST);
    EQUAL(first->first, FIRST + SECOND);
    CHECK(next(&s) == second);
    FIELDS(&s, (lost, FIRST + SECOND), (ring.chunks.count, 2));
}

ABSORBS(only_the_first_without_budget)
{
    CLEAN(clear) series s;
    OK(open_series(&s, false));
    s.f.recording->timeline.max_bytes = 0;
    CHECK(next(&s) != NULL); /* the first, in any case */
    CHECK(next(&s) == NULL);
}
