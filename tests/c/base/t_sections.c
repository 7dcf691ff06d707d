/* Threads inside a recording while windows begin and end: the protocol of
 * base/sections.h on real trees and files. Also run under ThreadSanitizer
 * (make threads). */
#include "check.h"

#include "base/sections.h"
#include "recording/open_entries.h"
#include "recording/recording.h"
#include "recording/steps/step_table.h"
#include "trace/reader/recording_reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { WORKERS = 4, WINDOWS = 120, PER_RECORDING = 6, NODES = 12, DEEP = 40 };

ONCE(does_not_wait)
{
    fd_section a = {.inside = false};
    fd_section b = {.inside = false};
    fd_sections_init();
    fd_sections_add(&a);
    fd_sections_add(&b);
    CHECK(fd_sections_wait(NULL));
    fd_section_enter(&a);
    CHECK(fd_sections_wait(&a));
    fd_sections_remove(&b);
    CHECK(!fd_sections_wait(&b)); /* after a second */
    fd_section_leave(&a);
    CHECK(fd_sections_wait(NULL));
    fd_sections_remove(&a);
    fd_sections_remove(&a);
}

/* The state that capture keeps in fd_process and fd_session. */
static struct {
    _Atomic uint32_t generation;
    _Atomic bool running;
    _Atomic bool end;
    _Atomic uint32_t serial;
    fd_recording *_Atomic active;
    fd_steps steps;
    _Atomic uint64_t calls; /* counted by the workers, of this recording */
} shared;

typedef struct worker {
    fd_section section;
    pthread_t thread;
    uint32_t synced;
    uint32_t serial;
    uint32_t random;
    fd_tree *tree;
    uint32_t nodes[NODES];
    bool brief; /* ends, and another one is created */
} worker;

static uint32_t
next(worker *w)
{
    w->random = w->random * 1664525 + 1013904223;
    return w->random >> 16;
}

/* Like synchronise() in capture/operators/native_thread.c. */
static bool
synchronise(worker *w, uint32_t generation)
{
    fd_recording *recording = shared.active;
    if (recording == NULL || !shared.running) {
        return false;
    }
    if (w->serial != shared.serial) {
        char name[32];
        w->serial = shared.serial;
        w->tree = fd_tree_attach(recording, "worker", 7);
        for (int i = 0; i < NODES; i++) {
            snprintf(name, sizeof name, "function_%d", i);
            fd_node_spec spec = {.kind = FD_NODE_OP, .name = name};
            w->nodes[i] = fd_recording_node(recording, &spec, NULL);
        }
    }
    if (w->tree != NULL) {
        fd_tree_start(w->tree);
    }
    w->synced = generation;
    return w->tree != NULL;
}

static void
call(worker *w)
{
    fd_tree *tree = w->tree;
    fd_callee callee = {w->nodes[next(w) % NODES], 0, 0};
    fd_context *context = fd_tree_child(tree, tree->current, &callee);
    context->calls++;
    atomic_fetch_add_explicit(&shared.calls, 1, memory_order_relaxed);
    if (fd_stack_make_room(tree)) {
        fd_tree_push(tree, context, fd_tree_id(tree, context), w, FD_ENTRY_OP);
    }
}

static void
event(worker *w)
{
    fd_tree *tree = w->tree;
    uint32_t depth = fd_tree_depth(tree);
    fd_tree_tick(tree, fd_clock_ticks());
    if (depth < DEEP && next(w) % 2 == 0) {
        call(w);
    }
    else if (depth > 0) {
        fd_tree_close(tree, depth - 1);
    }
    if (next(w) % 512 == 0) {
        fd_steps_end(&shared.steps, tree, FD_STEPS_PROFILER);
    }
}

static void
enter(worker *w)
{
    fd_section_enter(&w->section);
    uint32_t generation =
        atomic_load_explicit(&shared.generation, memory_order_acquire);
    if (w->synced == generation || synchronise(w, generation)) {
        event(w);
        fd_section_leave(&w->section);
    }
    else {
        fd_section_leave(&w->section);
        sched_yield();
    }
}

/* Like leave() in capture/process/thread.c. */
static void
end_of_thread(worker *w)
{
    fd_section_enter(&w->section);
    if (shared.active != NULL && w->serial == shared.serial
        && w->tree != NULL) {
        fd_tree_release(w->tree);
    }
    fd_section_leave(&w->section);
    fd_sections_remove(&w->section);
}

static void *
work(void *argument)
{
    worker *w = argument;
    fd_sections_add(&w->section);
    for (int i = 0; !shared.end && (!w->brief || i < 300); i++) {
        enter(w);
    }
    end_of_thread(w);
    return NULL;
}

/* Threads that start and end: each reuses the tree of the previous one. */
static void *
work_briefly(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; !shared.end; i++) {
        worker w = {.random = i, .brief = true};
        if (pthread_create(&w.thread, NULL, work, &w) == 0) {
            pthread_join(w.thread, NULL);
        }
    }
    return NULL;
}

static void *
read_live(void *path)
{
    while (!shared.end) {
        fd_trace *trace = NULL;
        fd_error error;
        if (fd_reader_read(&trace, path, false, &error) == FD_OK) {
            fd_trace_free(trace);
        }
    }
    return NULL;
}

static void
begin_window(fd_recording *recording)
{
    fd_recording_resume(recording);
    fd_steps_begin(&shared.steps, 0, fd_clock_ticks());
    shared.running = true;
    atomic_fetch_add(&shared.generation, 1);
}

static bool
end_window(fd_recording *recording)
{
    shared.running = false;
    atomic_fetch_add(&shared.generation, 1);
    bool left = fd_sections_wait(NULL);
    fd_recording_pause(recording, left);
    return left;
}

static uint64_t
calls_in(const char *path)
{
    fd_trace *trace = NULL;
    fd_error error;
    uint64_t calls = 0;
    if (fd_reader_read(&trace, path, false, &error) != FD_OK) {
        return 0;
    }
    const fd_trace_rank *rank = &trace->ranks.list[0];
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        uint32_t node =
            trace->contexts.list[rank->figures.list[i].context].node;
        calls += trace->nodes.list[node].kind == FD_NODE_OP
                   ? rank->figures.list[i].calls
                   : 0;
    }
    fd_trace_free(trace);
    return calls;
}

/* A recording of some windows. Returns whether the file has exactly the calls
 * of the workers. */
static bool
record(const char *path)
{
    fd_recording *recording = NULL;
    fd_error error;
    fd_limits limits = fd_limits_of(16);
    if (fd_recording_open(&recording, path, &limits, &error) != FD_OK) {
        return false;
    }
    fd_steps_init(&shared.steps, recording);
    shared.calls = 0;
    shared.serial++;
    shared.active = recording;
    bool left = true;
    for (int i = 0; i < PER_RECORDING; i++) {
        begin_window(recording);
        usleep(300);
        left = end_window(recording) && left;
    }
    shared.active = NULL;
    left = fd_sections_wait(NULL) && left;
    fd_recording_stop(recording, left);
    fd_file_finish(&recording->file);
    bool exact = left && calls_in(path) == shared.calls;
    fd_recording_free(recording);
    return exact;
}

ONCE(windows_among_threads_and_readers)
{
    static worker workers[WORKERS];
    static char path[] = "rank00000.fd";
    pthread_t brief;
    pthread_t reader;
    shared.generation = 1; /* 0: not yet synchronised */
    fd_clock_init();
    fd_sections_init();
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i].random = i;
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i])
              == 0);
    }
    CHECK(pthread_create(&brief, NULL, work_briefly, NULL) == 0);
    CHECK(pthread_create(&reader, NULL, read_live, path) == 0);
    int exact = 0;
    for (int i = 0; i < WINDOWS / PER_RECORDING; i++) {
        exact += record(path);
    }
    shared.end = true;
    for (uint32_t i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    pthread_join(brief, NULL);
    pthread_join(reader, NULL);
    EQUAL(exact, WINDOWS / PER_RECORDING);
}
