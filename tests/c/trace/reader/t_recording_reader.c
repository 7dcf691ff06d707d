#include "check.h"
#include "fixtures.h"

#include "trace/reader/recording_reader.h"

#include <stdlib.h>
#include <string.h>

/* Later facts replace earlier ones; the ring starts at its oldest step. */
ABSORBS(ring_and_facts_settle)
{
    FIXTURE_AND_TRACE(f, trace);
    fd_recording_note(f.recording, "key", "1");
    fd_recording_note(f.recording, "key", "2");
    for (int i = 0; i < FD_STEPS_KEPT + 3; i++) {
        fixture_work(10);
        fd_steps_end(&f.steps, f.main, FD_STEPS_PROFILER);
    }
    OK(fixture_reload(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->meta.count, 1);
    SAME(fd_trace_text(trace, rank->meta.list[0].json), "2");
    EQUAL(rank->latest.count, FD_STEPS_KEPT);
    for (uint32_t i = 0; i < rank->latest.count; i++) {
        EQUAL(rank->latest.list[i].number, i + 3);
    }
}

static fd_status
recorded_bytes(fd_buffer *bytes)
{
    fd_status status = fixture_recorded("small.fd", 0, "run");
    return status == FD_OK ? fixture_read("small.fd", bytes) : status;
}

/* Read an exact copy, so that AddressSanitizer sees a byte too far, and use
 * what came out. */
static bool
survives(const char *bytes, size_t size, bool *has_notes)
{
    char *copy = malloc(size > 0 ? size : 1);
    fd_trace *trace = NULL;
    fd_error error = {""};
    memcpy(copy, bytes, size);
    fd_status status =
        fd_reader_read_memory(&trace, copy, size, false, &error);
    bool good = status == FD_OK ? fixture_sound(trace)
                                : error.text[0] != '\0' && trace == NULL;
    if (status == FD_OK) {
        *has_notes = trace->ranks.list[0].notes.count > 0;
        good = good && fixture_same(trace, trace);
    }
    fd_trace_free(trace);
    free(copy);
    return good;
}

ONCE(cut_anywhere)
{
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    OK(recorded_bytes(&bytes));
    for (size_t size = 0; size < bytes.size; size += 64) {
        bool notes = false;
        CHECK(survives(bytes.bytes, size, &notes));
        CHECK(size < FD_PAGE || notes);
    }
}

/* Bytes that matter: within 32 of one that is not zero. */
static bool
matters(const fd_buffer *bytes, size_t at)
{
    size_t from = at < 32 ? 0 : at - 32;
    for (size_t i = from; i < at + 32 && i < bytes->size; i++) {
        if (bytes->bytes[i] != 0) {
            return true;
        }
    }
    return false;
}

/* All bits of the header and of the chunks' headers, one bit in a byte of the
 * records. */
ONCE(any_bit_flipped)
{
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    OK(recorded_bytes(&bytes));
    for (size_t at = 0; at < bytes.size; at++) {
        bool notes;
        bool header = at < 512 || at % FD_PAGE < sizeof(fd_chunk);
        if (!matters(&bytes, at)) {
            continue;
        }
        for (int bit = 0; bit < 8; bit++) {
            if (header || bit == (int)((at / 8 + at) % 8)) {
                bytes.bytes[at] = (char)(bytes.bytes[at] ^ 1 << bit);
                bool good = survives(bytes.bytes, bytes.size, &notes);
                bytes.bytes[at] = (char)(bytes.bytes[at] ^ 1 << bit);
                CHECK(good);
            }
        }
    }
}

/* The page that holds the callers is gone: their callees are below <lost>,
 * with their figures. */
ABSORBS(orphans_are_kept)
{
    FIXTURE_AND_TRACE(f, trace);
    OK(fixture_train(&f, 0));
    uint32_t node = fixture_node(&f, FD_NODE_OP, "child");
    for (uint32_t i = 1; i < 200; i++) {
        fd_callee callee = {node, i % 100, i / 100};
        fd_tree_child(f.main, f.main->current, &callee)->calls++;
    }
    CHECK(f.main->chunks.count >= 2);
    f.main->chunks.list[0]->magic = 0;
    OK(fixture_reload(&f, &trace));
    uint32_t lost = fixture_find(trace, "<lost>");
    CHECK(lost != 0 && trace->contexts.list[lost].parent == 0);
    uint32_t child = fixture_find(trace, "child");
    EQUAL(trace->contexts.list[child].parent, lost);
    EQUAL(trace->ranks.list[0].notes.count, 2);
    SAME(fd_trace_text(trace, trace->ranks.list[0].notes.list[0]),
         "1 damaged pages were skipped");
    CHECK(fixture_sound(trace));
}
