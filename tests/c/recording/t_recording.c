#include "check.h"
#include "fixtures.h"

#include "trace/reader/recording_reader.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

TEST(limits_scale)
{
    fd_limits small = fd_limits_of(1);
    fd_limits usual = fd_limits_of(64);
    fd_limits large = fd_limits_of(1024);
    EQUAL(usual.max_bytes, 48 * 1024 * 1024);
    CHECK(usual.max_contexts >= 256 * 1024 && usual.max_nodes == 64 * 1024);
    EQUAL(usual.max_strings, 16 * 1024 * 1024);
    CHECK(small.max_contexts < usual.max_contexts);
    CHECK(large.max_contexts > usual.max_contexts);
    EQUAL(large.max_nodes, usual.max_nodes);
    CHECK((size_t)small.max_contexts * 128 < small.max_bytes);
}

ABSORBS(starts_and_stops)
{
    FIXTURE(f, "states.fd", 4);
    const fd_header *header = fd_file_header(&f.recording->file);
    EQUAL(header->state, FD_STATE_RUNNING);
    EQUAL(header->start.ticks, check_clock_now());
    fixture_work(100);
    fd_recording_pause(f.recording, true);
    FIELDS(header, (state, FD_STATE_PAUSED), (recorded, 100));
    EQUAL(f.main->root->self, 100);
    fixture_work(1000);
    fd_recording_resume(f.recording);
    fd_tree_start(f.main);
    EQUAL(header->resumed, check_clock_now());
    fixture_work(30);
    fd_recording_stop(f.recording, true);
    FIELDS(header, (state, FD_STATE_STOPPED), (recorded, 130),
           (stop.ticks, check_clock_now()));
    FIELDS(f.main, (root->self, 130), (record->covered, 130));
}

ABSORBS(ids_differ)
{
    fd_limits limits = fd_limits_of(1);
    fd_recording *one = NULL;
    fd_recording *two = NULL;
    OK(fd_recording_open(&one, NULL, &limits, NULL));
    fd_status status = fd_recording_open(&two, NULL, &limits, NULL);
    bool differ = status == FD_OK
               && memcmp(fd_file_header(&one->file)->id,
                         fd_file_header(&two->file)->id, 16)
                      != 0;
    fd_recording_free(one);
    if (status == FD_OK) {
        fd_recording_free(two);
    }
    OK(status);
    CHECK(differ);
}

/* Too little room, or a full disk: an error, and no file remains. */
TEST(no_room_to_start)
{
    fd_limits limits = fd_limits_of(1);
    limits.max_bytes = 8 * FD_PAGE;
    fd_recording *recording = NULL;
    fd_error error = {""};
    STATUS(fd_recording_open(&recording, "small.fd", &limits, &error),
           FD_EFULL);
    HAS(error.text, "small.fd: no room left");
    CHECK(access("small.fd", F_OK) != 0);
}

/* The disk fills up in the middle: calls go on, are counted, and the file
 * reads. */
ABSORBS(disk_fills_up)
{
    FIXTURE(f, "filling.fd", 64);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit now = {fixture_bytes(&f) + 8 * FD_PAGE, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
    for (int i = 0; i < 20000; i++) {
        char name[16];
        snprintf(name, sizeof name, "op_%d", i);
        fixture_call(f.main, fixture_node(&f, FD_NODE_OP, name), 1);
    }
    fixture_stop(&f);
    setrlimit(RLIMIT_FSIZE, &old);
    OK(fd_reader_read(&trace, "filling.fd", false, NULL));
    CHECK(trace->ranks.list[0].counters[FD_COUNT_DISK_FULL] > 0);
    EQUAL(trace->ranks.list[0].threads.list[0].self, 20000);
    EQUAL(trace->ranks.list[0].threads.list[0].covered, 20000);
    uint64_t calls = 0;
    for (uint32_t i = 0; i < trace->ranks.list[0].figures.count; i++) {
        calls += trace->ranks.list[0].figures.list[i].calls;
    }
    EQUAL(calls, 20001);
    CHECK(fixture_find(trace, "<overflow>") != 0);
}

ABSORBS(in_a_child_it_is_forgotten)
{
    FIXTURE(f, "detached.fd", 4);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_train(&f, 0));
    fixture_stop(&f);
    fd_recording_detach(f.recording);
    f.main->root->self = 1;
    OK(fd_reader_read(&trace, "detached.fd", false, NULL));
    EQUAL(fixture_figure(trace, 0, fixture_find(trace, "aten::linear")).self,
          100);
}

typedef struct race {
    fixture *f;
    const char *role;
    _Atomic int go;
} race;

/* One thread that grows its tree as fast as it can. */
static void *
grow(void *argument)
{
    race *r = argument;
    fd_tree *tree = fixture_thread(r->f, r->role);
    for (int i = 0; i < 3000 && tree != NULL; i++) {
        char name[16];
        snprintf(name, sizeof name, "op_%d", i % 700);
        fixture_enter_node(tree, fixture_node(r->f, FD_NODE_OP, name));
        fixture_enter_node(tree, fixture_node(r->f, FD_NODE_OP, r->role));
        if (i % 50 == 49) {
            fd_tree_truncate(tree, 0);
        }
    }
    atomic_store(&r->go, 0);
    return NULL;
}

static bool
is_whole(const fd_trace *trace)
{
    return trace->ranks.list[0].notes.count == 0
        && fixture_find(trace, "<lost>") == 0;
}

/* A copy taken at any moment is complete: every context has its parent, its
 * node and their names. */
ONCE(complete_at_any_moment)
{
    FIXTURE(f, "moving.fd", 16);
    race r = {&f, "grower", 1};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, grow, &r) == 0);
    int copies = 0;
    bool whole = true;
    fd_status status = FD_OK;
    while (status == FD_OK && whole && (copies < 3 || r.go != 0)) {
        fd_trace *trace = NULL;
        status = fd_reader_read(&trace, "moving.fd", false, NULL);
        whole = status == FD_OK && is_whole(trace);
        fd_trace_free(trace);
        copies++;
    }
    pthread_join(thread, NULL);
    OK(status);
    CHECK(whole);
}

/* Several threads add the same names at once: each is there once. */
ONCE(threads_share_the_tables)
{
    FIXTURE(f, NULL, 32);
    race races[3] = {{&f, "a", 1}, {&f, "b", 1}, {&f, "c", 1}};
    pthread_t threads[3];
    uint32_t before = f.recording->nodes.pool.count;
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_create(&threads[i], NULL, grow, &races[i]) == 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    EQUAL(f.recording->nodes.pool.count, before + 700 + 3 + 3);
    EQUAL(f.recording->threads.count, 4);
}
