#include "traces.h"

#include "et/tools/et_link.h"

static void
add(fd_et *et, uint64_t thread, int64_t start)
{
    fd_et_node *node = fd_et_add(et);
    node->id = node->parent_id = et->nodes.count;
    node->thread = thread;
    node->start_ns = start;
}

/* Two operators; kernels on streams 1 and 2. */
static void
make(fd_et *et, fd_kineto *k)
{
    static const fd_kineto_kernel kernels[] = {{.correlation = 1,
                                                .start = 20000,
                                                .dur = 10000,
                                                .stream = 1,
                                                .index = 3},
                                               {.correlation = 2,
                                                .start = 25000,
                                                .dur = 20000,
                                                .stream = 2,
                                                .index = 4},
                                               {.correlation = 9,
                                                .start = 90000,
                                                .dur = 1000,
                                                .stream = 2,
                                                .index = 5}};
    add(et, 7, 1000);
    add(et, 7, 70000);
    for (int i = 0; i < 3; i++) {
        add(et, 0, 0);
        fd_arena_push(&et->arena, &k->kernels, kernels[i]);
    }
    fd_et_finish(et);
}

TEST(threads)
{
    static const struct {
        fd_kineto_wait wait;
        int32_t stream;
        uint64_t one, two;
    } cases[] = {{FD_KINETO_DEVICE, -1, 1, 1},
                 {FD_KINETO_STREAM, -1, 0, 1},
                 {FD_KINETO_STREAM, 1, 1, 0},
                 {FD_KINETO_COPY, -1, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EMPTY_TRACE(et);
        fd_kineto k = {.events = 0};
        bool copy = cases[i].wait == FD_KINETO_COPY;
        fd_kineto_call call = {.correlation = copy ? 1 : 5,
                               .thread = 7,
                               .start = copy ? 2000 : 47000,
                               .dur = 20000,
                               .wait = (uint8_t)cases[i].wait};
        make(&et, &k);
        fd_arena_push(&et.arena, &k.calls, call);
        if (cases[i].stream >= 0) {
            fd_arena_push(
                &et.arena, &k.syncs,
                (fd_kineto_sync){.correlation = 5, .stream = cases[i].stream});
        }
        fd_et_find_waits(&et, &k);
        EQUAL(traces_edge(&et, 3, 2), cases[i].one << FD_ET_SYNC);
        EQUAL(traces_edge(&et, 4, 2), cases[i].two << FD_ET_SYNC);
    }
}

TEST(streams)
{
    EMPTY_TRACE(et);
    fd_kineto k = {.events = 0};
    make(&et, &k);
    fd_arena_push(
        &et.arena, &k.syncs,
        (fd_kineto_sync){
            .correlation = 4, .record = 3, .stream = 2, .source = 1});
    fd_arena_push(
        &et.arena, &k.syncs,
        (fd_kineto_sync){
            .correlation = 40, .record = 3, .stream = 2, .source = 1});
    /* Streams of these numbers on another device. */
    fd_arena_push(&et.arena, &k.syncs,
                  (fd_kineto_sync){.correlation = 4,
                                   .record = 3,
                                   .stream = 2,
                                   .source = 1,
                                   .device = 1});
    fd_et_find_waits(&et, &k);
    EQUAL(et.edges.count, 1);
    EQUAL(traces_edge(&et, 3, 5), 1U << FD_ET_EVENT);
}

/* A call and a copy without a number have nothing to do with each other. */
TEST(copies_without_a_number)
{
    EMPTY_TRACE(et);
    fd_kineto k = {.events = 0};
    make(&et, &k);
    k.kernels.list[0].correlation = 0;
    fd_arena_push(
        &et.arena, &k.calls,
        (fd_kineto_call){
            .thread = 7, .start = 2000, .dur = 20000, .wait = FD_KINETO_COPY});
    fd_et_find_waits(&et, &k);
    EQUAL(et.edges.count, 0);
}
