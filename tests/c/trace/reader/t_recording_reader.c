#include "check.h"
#include "fixtures.h"

#include "trace/dump/dump_writer.h"
#include "trace/reader/recording_reader.h"

#include <stdlib.h>
#include <string.h>

TEST(facts_of_a_recording)
{
    TRAINED_TRACE(trace, 1, "abc");
    const fd_trace_rank *rank = &trace->ranks.list[0];
    CHECK(rank->rank == 1 && rank->world == 2 && rank->pid == 4711);
    EQUAL(rank->state, FD_STATE_STOPPED);
    EQUAL(rank->steps, 2);
    EQUAL(rank->steps_source, FD_STEPS_EXPLICIT);
    EQUAL(rank->recorded, 950);
    SAME(rank->id, "02ababababababababababababababab");
    SAME(rank->boot_id, "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd");
    EQUAL(rank->meta.count, 2);
    SAME(fd_trace_text(trace, rank->meta.list[0].key), "argv");
    SAME(fd_trace_text(trace, rank->meta.list[1].json), "\"abc\"");
    EQUAL(rank->notes.count, 0);
    EQUAL(rank->latest.count, 2);
    EQUAL(rank->latest.list[0].begin, 0);
    EQUAL(rank->latest.list[0].end, 475);
    EQUAL(rank->latest.list[1].end, 950);
    EQUAL(rank->latest.list[0].phases[FD_PHASE_FORWARD], 240);
    EQUAL(rank->latest.list[0].phases[FD_PHASE_OPTIMIZER], 35);
    EQUAL(rank->latest.list[0].phases[FD_PHASE_OTHER], 200);
    EQUAL(rank->tops.list[0].self, 200);
    EQUAL(rank->tops.list[0].context, fixture_find(trace, "train"));
}

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

TEST(states)
{
    FIXTURE(f, "state.fd", 4);
    CLEAN(fixture_trace_free) fd_trace *live = NULL;
    CLEAN(fixture_trace_free) fd_trace *killed = NULL;
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    OK(fixture_train(&f, 0));
    OK(fd_reader_read(&live, "state.fd", false, NULL));
    EQUAL(live->ranks.list[0].state, FD_STATE_RUNNING);
    OK(fixture_read("state.fd", &bytes));
    OK(fixture_write("killed.fd", bytes.bytes, bytes.size));
    OK(fd_reader_read(&killed, "killed.fd", false, NULL));
    EQUAL(killed->ranks.list[0].state, FD_STATE_KILLED);
    EQUAL(killed->ranks.list[0].recorded, 950);
    EQUAL(killed->ranks.list[0].open.count, 1);
    EQUAL(killed->ranks.list[0].notes.count, 0);
}

/* A name in quotes: the error says which file. */
TEST(unreadable)
{
    fd_trace *trace = NULL;
    fd_error error;
    STATUS(fd_reader_read(&trace, "none.fd", false, &error), FD_EIO);
    CHECK(trace == NULL);
    OK(fixture_write("text.fd", "hello", 5));
    STATUS(fd_reader_read(&trace, "text.fd", false, &error), FD_EFORMAT);
    SAME(error.text, "text.fd: not a fastdispatch recording");
    STATUS(fd_reader_read_memory(&trace, "fastdisp", 8, false, &error),
           FD_EFORMAT);
    HAS(error.text, "this recording: cut off");
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
    fd_buffer dump = {.bytes = NULL};
    memcpy(copy, bytes, size);
    fd_status status =
        fd_reader_read_memory(&trace, copy, size, false, &error);
    bool good = status == FD_OK ? fixture_sound(trace)
                                : error.text[0] != '\0' && trace == NULL;
    if (status == FD_OK) {
        *has_notes = trace->ranks.list[0].notes.count > 0;
        good = good && fixture_dump(trace, &dump) == FD_OK;
    }
    fd_buffer_clear(&dump);
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
