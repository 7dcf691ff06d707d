#include "check.h"
#include "fixtures.h"

#include "gpu/gpu_figures.h"
#include "trace/reader/recording_reader.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 5000, INTERVALS = 1000 };

/* Calls of a thread and intervals on a GPU, most of which find room only in
 * the side file. It is left open. */
static fd_status
record(fixture *f, const char *path)
{
    fd_timeline timeline = {.on = true, .max_spill = 1 << 20};
    fd_status status = fixture_open(f, path, 4);
    if (status == FD_OK) {
        status = fd_recording_plan(f->recording, &timeline, NULL);
    }
    if (status != FD_OK) {
        return FD_ENOMEM;
    }
    f->recording->timeline.max_bytes = 16 * 1024;
    fd_tree *tree = fixture_thread(f, "worker");
    if (tree == NULL) {
        return FD_ENOMEM;
    }
    uint32_t node = fixture_function(f, "a", 0);
    uint32_t context = 0;
    for (int i = 0; i < CALLS; i++) {
        context = fd_tree_id(tree, fixture_enter_node(tree, node));
        fixture_work(1);
        fixture_leave(tree);
    }
    fd_gpu_figures figures;
    fd_gpu_figures_init(&figures, f->recording);
    for (int i = 0; i < INTERVALS; i++) {
        fd_gpu_sample sample = {
            .event = {.host = check_clock_now(),
                      .start = check_clock_now() + (uint64_t)i,
                      .context = context,
                      .thread =
                          fd_file_id(&f->recording->file, tree->record)}};
        fd_gpu_figures_add(&figures, &sample);
    }
    fd_gpu_figures_clear(&figures);
    return check_refused() ? FD_ENOMEM : FD_OK;
}

static fd_status
recorded(const char *path)
{
    fixture f;
    fd_status status = record(&f, path);
    if (status == FD_OK) {
        fixture_stop(&f);
    }
    fixture_clear(&f);
    return status;
}

static const char *
note(const fd_trace *trace)
{
    const fd_trace_rank *rank = &trace->ranks.list[0];
    return rank->notes.count > 0 ? fd_trace_text(trace, rank->notes.list[0])
                                 : "";
}

/* Of the worker. */
static const fd_trace_thread *
thread(const fd_trace *trace)
{
    return &trace->ranks.list[0].threads.list[1];
}

static uint64_t
gpu_lost(const fd_trace *trace)
{
    return trace->ranks.list[0].counters[FD_COUNT_GPU_EVENTS_LOST];
}

/* Everything, in the order in which it was written. */
static bool
is_whole(const fd_trace *trace)
{
    const fd_trace_rank *rank = &trace->ranks.list[0];
    bool whole = rank->events.count == CALLS && rank->notes.count == 0
              && rank->gpu_events.count == INTERVALS
              && thread(trace)->events_lost == 0 && gpu_lost(trace) == 0;
    for (uint32_t i = 0; i < CALLS && whole; i++) {
        whole = rank->events.list[i].start == i;
    }
    for (uint32_t i = 0; i < INTERVALS && whole; i++) {
        whole = rank->gpu_events.list[i].start == CALLS + i;
    }
    return whole;
}

static void
read_as_one(void)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fixture_trace_free) fd_trace *live = NULL;
    CLEAN(fixture_trace_free) fd_trace *memory = NULL;
    CLEAN(fixture_trace_free) fd_trace *killed = NULL;
    CLEAN(fixture_trace_free) fd_trace *without = NULL;
    OK(record(&f, "whole.fd"));
    OK(fd_reader_read(&live, "whole.fd", true, NULL));
    CHECK(is_whole(live));
    const fd_file *file = &f.recording->file;
    OK(fd_reader_read_memories(
        &memory, (fd_memory){file->base, file->capacity},
        (fd_memory){file->spill->base, file->spill->capacity}, true, NULL));
    CHECK(is_whole(memory));
    fixture_clear(&f); /* closed and never stopped */
    OK(fd_reader_read(&killed, "whole.fd", true, NULL));
    CHECK(is_whole(killed));
    EQUAL(killed->ranks.list[0].state, FD_STATE_KILLED);
    OK(fd_reader_read(&without, "whole.fd", false, NULL));
    EQUAL(without->ranks.list[0].notes.count, 0);
}

static void
found_after_a_move(void)
{
    CLEAN(fixture_trace_free) fd_trace *alone = NULL;
    CLEAN(fixture_trace_free) fd_trace *both = NULL;
    OK(recorded("one.fd"));
    EQUAL(rename("one.fd", "./moved.fd"), 0);
    OK(fd_reader_read(&alone, "./moved.fd", true, NULL));
    CHECK(is_whole(alone));
    EQUAL(rename("one.fd.events", "moved.fd.events"), 0);
    OK(fd_reader_read(&both, "moved.fd", true, NULL));
    CHECK(is_whole(both));
}

/* Events of the thread and of the GPU: those read plus those lost are all. */
static bool
is_counted(const fd_trace *trace)
{
    const fd_trace_rank *rank = &trace->ranks.list[0];
    return rank->events.count + thread(trace)->events_lost == CALLS
        && rank->gpu_events.count + gpu_lost(trace) == INTERVALS;
}

static void
missing(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(recorded("lonely.fd"));
    unlink("lonely.fd.events");
    OK(fd_reader_read(&trace, "lonely.fd", true, NULL));
    CHECK(is_counted(trace) && thread(trace)->events_lost > 0);
    char line[128];
    snprintf(line, sizeof line,
             "lonely.fd.events is not there: %u events of the timeline are "
             "lost",
             CALLS + INTERVALS - trace->ranks.list[0].events.count
                 - trace->ranks.list[0].gpu_events.count);
    SAME(note(trace), line);
}

static void
of_another_recording(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    OK(recorded("mine.fd"));
    OK(fixture_read("mine.fd.events", &bytes));
    bytes.bytes[offsetof(fd_header, id)] ^= 1;
    OK(fixture_write("mine.fd.events", bytes.bytes, bytes.size));
    OK(fd_reader_read(&trace, "mine.fd", true, NULL));
    CHECK(is_counted(trace));
    CHECK(strstr(note(trace), "mine.fd.events is of another recording: ")
          != NULL);
}

/* A recording without a side file ignores the files beside it. */
static void
beside_a_recording_without(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(recorded("spilled.fd"));
    OK(fixture_recorded("plain.fd", 0, "run"));
    EQUAL(rename("spilled.fd.events", "plain.fd.events"), 0);
    OK(fd_reader_read(&trace, "plain.fd", true, NULL));
    EQUAL(trace->ranks.list[0].notes.count, 0);
    EQUAL(trace->ranks.list[0].events.count, 0);
}

/* At every page, and within the header. */
static void
cut_short(void)
{
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    unlink("cut.fd.events"); /* too short to be recognized */
    OK(recorded("cut.fd"));
    OK(fixture_read("cut.fd.events", &bytes));
    size_t size = bytes.size;
    for (size_t at = 0; at < size; at += at < 200 ? 100 : 3 * FD_PAGE) {
        CLEAN(fixture_trace_free) fd_trace *trace = NULL;
        OK(fixture_write("cut.fd.events", bytes.bytes, at));
        OK(fd_reader_read(&trace, "cut.fd", true, NULL));
        CHECK(is_counted(trace));
        bool lost = thread(trace)->events_lost + gpu_lost(trace) > 0;
        CHECK(lost || at > size / 2);
        EQUAL(strstr(note(trace), "cut.fd.events") != NULL, lost);
    }
}

static void
damaged(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    OK(recorded("hurt.fd"));
    OK(fixture_read("hurt.fd.events", &bytes));
    memset(bytes.bytes + FD_PAGE, 0xEE, 64);
    OK(fixture_write("hurt.fd.events", bytes.bytes, bytes.size));
    OK(fd_reader_read(&trace, "hurt.fd", true, NULL));
    CHECK(is_counted(trace));
    CHECK(strstr(note(trace), "hurt.fd.events has ") != NULL);
}

RUN(ABSORBS(read_as_one), ABSORBS(found_after_a_move), ABSORBS(missing),
    ABSORBS(of_another_recording), ABSORBS(beside_a_recording_without),
    ABSORBS(cut_short), ABSORBS(damaged))
