#include "traces.h"

#include "et/readers/kineto_reader.h"

#include <string.h>

static void
add_op(fd_et *et, fd_kineto *k, const char *name, uint64_t thread,
       int64_t start)
{
    fd_kineto_op op = {.thread = thread, .start = start, .dur = 1, .seq = -1};
    op.name = fd_et_add_word(et, name);
    fd_arena_push(&et->arena, &k->ops, op);
}

TEST(found)
{
    static const char *const names[] = {"aten::linear", "aten::addmm",
                                        "aten::extra",  "aten::relu_",
                                        "aten::view",   "c10d::send"};
    LOADED(et);
    ENTER(&et.arena);
    fd_kineto k = {.events = 0};
    add_op(&et, &k, "elsewhere", 3, 1);
    for (int i = 5; i >= 0; i--) {
        add_op(&et, &k, names[i], 9, i);
    }
    fd_et_link_by_order(&et, &k);
    static const uint64_t ids[] = {4, 5, 0, 6, 7, 20};
    for (uint32_t i = 0; i < k.ops.count; i++) {
        const fd_kineto_op *op = &k.ops.list[i];
        uint64_t id = op->thread == 9 ? ids[op->start] : 0;
        EQUAL(op->index, id == 0 ? 0 : fd_et_index(&et, id));
    }
}

TEST(numbered)
{
    LOADED(et);
    ENTER(&et.arena);
    fd_kineto k = {.events = 0};
    fd_et_link_by_order(&et, &k);
    add_op(&et, &k, "aten::linear", 3, 1);
    add_op(&et, &k, "aten::addmm", 3, 2);
    k.ops.list[1].rf_id = 5;
    fd_et_link_by_order(&et, &k);
    EQUAL(k.ops.list[0].index, 0);
}

/* gloo works on two threads, at the same time: an execution trace has all of
 * them on the thread of the caller, in the order of their start. */
TEST(work_of_other_threads)
{
    static const struct {
        const char *name;
        uint64_t thread; /* 9: the caller */
        int64_t start;   /* in ms, from 1 on; 0: not in the Kineto trace */
    } calls[] = {
        {"aten::ones", 9, 0},      {"gloo:broadcast", 7, 0},
        {"aten::linear", 9, 1},    {"c10d::allreduce_", 9, 2},
        {"gloo:all_reduce", 7, 3}, {"c10d::allreduce_", 9, 4},
        {"gloo:all_reduce", 8, 5}, {"c10d::allreduce_", 9, 6},
        {"gloo:all_reduce", 8, 7}, {"gloo:broadcast", 8, 8},
        {"aten::addmm", 9, 9},     {"gloo:all_reduce", 7, 10},
        {"aten::relu_", 9, 11},    {"gloo:broadcast", 7, 12},
        {"gloo:barrier", 7, 13},   {"gloo:barrier", 8, 0},
        {"aten::ones", 9, 0},
    };
    enum { COUNT = sizeof calls / sizeof *calls };
    EMPTY_TRACE(et);
    fd_kineto k = {.events = 0};
    for (uint32_t i = 0; i < COUNT; i++) {
        fd_et_node *node = fd_et_add(&et);
        node->id = i + 2;
        node->tid = 1;
        node->name = fd_et_add_word(&et, calls[i].name);
        if (calls[i].start != 0) {
            add_op(&et, &k, calls[i].name, calls[i].thread,
                   calls[i].start * 1000000);
        }
    }
    fd_et_finish(&et);
    fd_et_link_by_order(&et, &k);
    uint32_t op = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (calls[i].start != 0) {
            EQUAL(k.ops.list[op++].index, i + 1);
        }
    }
    EQUAL(op, k.ops.count);
}
