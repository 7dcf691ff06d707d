#include "traces.h"

#include "et/tools/link_by_order.h"

#include <string.h>

static fd_status
add_op(fd_et *et, fd_kineto *k, const char *name, uint64_t thread,
       int64_t start)
{
    fd_kineto_op op = {.thread = thread, .start = start, .dur = 1, .seq = -1};
    fd_status status =
        fd_text_pool_add(&et->texts, name, strlen(name), &op.name);
    return status == FD_OK ? fd_vector_push(&k->ops, op) : status;
}

static void
found(void)
{
    static const char *const names[] = {"aten::linear", "aten::addmm",
                                        "aten::extra",  "aten::relu_",
                                        "aten::view",   "c10d::send"};
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_kineto_clear) fd_kineto k = {.events = 0};
    OK(traces_loaded(&et));
    OK(add_op(&et, &k, "elsewhere", 3, 1));
    for (int i = 5; i >= 0; i--) {
        OK(add_op(&et, &k, names[i], 9, i));
    }
    OK(fd_et_link_by_order(&et, &k));
    static const uint64_t ids[] = {4, 5, 0, 6, 7, 20};
    for (uint32_t i = 0; i < k.ops.count; i++) {
        const fd_kineto_op *op = &k.ops.list[i];
        uint64_t id = op->thread == 9 ? ids[op->start] : 0;
        EQUAL(op->place, id == 0 ? 0 : fd_et_place(&et, id));
    }
}

static void
numbered(void)
{
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_kineto_clear) fd_kineto k = {.events = 0};
    OK(traces_loaded(&et));
    OK(fd_et_link_by_order(&et, &k));
    OK(add_op(&et, &k, "aten::linear", 3, 1));
    OK(add_op(&et, &k, "aten::addmm", 3, 2));
    k.ops.list[1].rf_id = 5;
    OK(fd_et_link_by_order(&et, &k));
    EQUAL(k.ops.list[0].place, 0);
}

RUN(TEST(found), TEST(numbered))
