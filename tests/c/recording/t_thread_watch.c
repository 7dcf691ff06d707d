#include "check.h"
#include "fixtures.h"

#include "recording/followed_call.h"
#include "recording/thread_watch.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An emulator translates system calls, and /proc shows the numbers of the
 * processor that runs it. */
#if defined(FD_EMULATED)
enum { READ_PIPE = FD_WAIT_OTHER };
#else
enum { READ_PIPE = FD_WAIT_PIPE };
#endif

/* A thread that reads a pipe to which nothing is written. */
typedef struct blocked {
    int pipe[2];
    _Atomic uint32_t id;
    pthread_t thread;
} blocked;

static void *
read_pipe(void *context)
{
    blocked *b = context;
    char byte;
    b->id = (uint32_t)syscall(SYS_gettid);
    ssize_t size = read(b->pipe[0], &byte, 1);
    (void)size;
    return NULL;
}

static void
start_blocked(blocked *b)
{
    CHECK(pipe(b->pipe) == 0);
    CHECK(pthread_create(&b->thread, NULL, read_pipe, b) == 0);
    while (b->id == 0) {
        usleep(100);
    }
}

static void
end_blocked(blocked *b)
{
    close(b->pipe[1]);
    pthread_join(b->thread, NULL);
    close(b->pipe[0]);
}

static uint32_t
line_of(uint64_t owner)
{
    return owner == 77 ? 5 : 0;
}

/* Look until the thread has not run between two looks. */
static void
look_until_still(fd_thread_watch *watch, const fd_thread_record *record)
{
    for (int i = 0; i < 1000 && record->still == 0; i++) {
        fixture_work(10);
        fd_thread_watch_look(watch);
        usleep(1000);
    }
}

ABSORBS(a_thread_that_stands_still)
{
    FIXTURE_AND_TRACE(f, trace);
    blocked b = {.id = 0};
    fd_thread_watch watch = {.recording = f.recording, .line_of = line_of};
    fd_context *call =
        fixture_enter_node(f.main, fixture_function(&f, "f", 0));
    f.main->stack[0].owner = 77;
    start_blocked(&b);
    f.main->record->system_id = b.id;
    look_until_still(&watch, f.main->record);
    uint64_t still = f.main->record->still;
    fixture_work(100);
    fd_thread_watch_look(&watch);
    fd_status status = fixture_reload(&f, &trace);
    end_blocked(&b);
    fd_vector_clear(&watch.threads);
    OK(status);
    CHECK(call != NULL && still != 0);
    FIELDS(f.main->record, (still, still), (waits, READ_PIPE));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->threads.list[0].waits, READ_PIPE);
    CHECK(rank->threads.list[0].still >= 100);
    CHECK(rank->seen_alive > 0);
    EQUAL(rank->open.list[0].line, 5);
}

/* Two calls of functions with these numbers of code. */
static uint32_t
calls_of(uint32_t system_id, fd_entry *entries, uint32_t capacity)
{
    uint32_t count = system_id != 0 && capacity > 2 ? 2 : 0;
    for (uint32_t i = 0; i < count; i++) {
        entries[i] = (fd_entry){.start = FD_FOLLOWED(5 + i, 0),
                                .owner = 77 + i,
                                .flags = FD_ENTRY_FRAME | FD_ENTRY_CONTRACTED
                                       | FD_ENTRY_FOLLOWED};
    }
    return count;
}

/* The stack in the file has other calls, which ended. */
ABSORBS(calls_that_the_watch_finds)
{
    FIXTURE_AND_TRACE(f, trace);
    fd_thread_watch watch = {.recording = f.recording, .calls_of = calls_of};
    const char *names[] = {"f", "g"};
    for (uint32_t i = 0; i < 2; i++) {
        fixture_enter_node(f.main, fixture_function(&f, names[i], 0))->callee =
            5 + i;
    }
    fixture_enter_node(f.main, fixture_function(&f, "ended", 0));
    f.main->stack[0].owner = 77;
    f.main->record->system_id = (uint32_t)syscall(SYS_gettid);
    fd_recording_watch(f.recording);
    EQUAL(f.main->record->running, FD_THREAD_WATCHED);
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 0); /* before the first look */
    fd_trace_free(trace);
    trace = NULL;
    fixture_work(1 << (FD_FOLLOWED_UNIT_SHIFT + 1));
    fd_thread_watch_look(&watch);
    fd_vector_clear(&watch.threads);
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 2);
    const fd_open_call *calls = trace->ranks.list[0].open.list;
    EQUAL(calls[0].context, fixture_find(trace, "f"));
    EQUAL(calls[1].context, fixture_find(trace, "g"));
    CHECK(calls[0].age > 0 && calls[1].age == 0); /* known, and new */
    fd_tree_start(f.main);
    EQUAL(f.main->record->running, FD_THREAD_RUNS);
}

static void
count_open_calls(fixture *f, fd_trace **trace, uint32_t count)
{
    fd_trace_free(*trace);
    *trace = NULL;
    OK(fixture_reload(f, trace));
    EQUAL((*trace)->ranks.list[0].open.count, count);
}

/* Those that the watch finds, until the thread reports another call. */
ABSORBS(calls_below_a_quiet_one)
{
    FIXTURE_AND_TRACE(f, trace);
    fd_thread_watch watch = {.recording = f.recording, .calls_of = calls_of};
    fixture_enter_node(f.main, fixture_function(&f, "f", 0))->callee = 5;
    fixture_enter_node(f.main, fixture_function(&f, "g", 0))->callee = 6;
    fixture_leave(f.main);
    fixture_leave(f.main);
    fd_thread_record *record = f.main->record;
    calls_of(1, f.main->stack, 3);
    f.main->stack[0].context = record->root;
    f.main->stack[0].start |= FD_FOLLOWED(0, check_clock_now());
    record->depth = 1;
    record->system_id = (uint32_t)syscall(SYS_gettid);
    record->running = FD_THREAD_QUIET;
    count_open_calls(&f, &trace, 1);
    fixture_work(1 << (FD_FOLLOWED_UNIT_SHIFT + 1));
    fd_thread_watch_look(&watch);
    fd_vector_clear(&watch.threads);
    count_open_calls(&f, &trace, 2);
    fixture_work(1 << (FD_FOLLOWED_UNIT_SHIFT + 1));
    record->last = check_clock_now();
    count_open_calls(&f, &trace, 1);
}

ABSORBS(a_thread_that_runs)
{
    FIXTURE(f, NULL, 4);
    fd_thread_watch watch = {.recording = f.recording};
    f.main->record->system_id = (uint32_t)syscall(SYS_gettid);
    for (int i = 0; i < 3; i++) {
        usleep(1000);
        fd_thread_watch_look(&watch);
    }
    fd_vector_clear(&watch.threads);
    EQUAL(f.main->record->still, 0);
    EQUAL(fd_file_header(&f.recording->file)->seen_alive, check_clock_now());
}

TEST(starts_and_ends)
{
    FIXTURE(f, NULL, 4);
    fd_thread_watch watch = {.running = false};
    for (int i = 0; i < 2; i++) {
        fd_thread_watch_start(&watch, f.recording);
        fd_thread_watch_start(&watch, f.recording);
        fd_file_header(&f.recording->file)->seen_alive = 1;
        fd_thread_watch_end(&watch);
        CHECK(!watch.running);
        EQUAL(fd_file_header(&f.recording->file)->seen_alive, 0);
    }
    fd_thread_watch_clear(&watch);
}
