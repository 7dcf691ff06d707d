#include "check.h"
#include "pictures.h"

#include "export/flame_stacks.h"

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 5)},
    {USER(1, "a.py::step", 1, 10)},
    {USER(2, "a.py::idle", 0, 0)},
    {OP(2, "aten::mm", 3, 20)},
    {USER(1, "a.py::late", 1, 0)},
    {OP(2, "aten::add", 1, 7)},
    {OTHER(0, FD_NODE_THREAD, "worker", 0, 0)},
};

/* "+1 +2 -2 -1": contexts opened and closed, by index. */
static void
walk(const fd_stacks *stacks, fd_buffer *to)
{
    fd_stacks_step step = {0, false};
    while (fd_stacks_walk(stacks, &step)) {
        fd_buffer_format(
            to, "%c%s ", step.opens ? '+' : '-',
            fd_trace_text(
                stacks->trace,
                stacks->trace->nodes
                    .list[stacks->trace->contexts.list[step.context].node]
                    .name));
    }
    fd_buffer_bytes(to, "", 1);
}

static void
each_call_opens_and_closes_once(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_stacks_clear) fd_stacks stacks = {.trace = NULL};
    OK(PICTURE(&p, run));
    OK(fd_stacks_make(&stacks, p.trace, FD_ALL_RANKS, FD_WEIGHT_TIME));
    walk(&stacks, &text);
    OK(text.status);
    SAME(text.bytes, "+main +late +aten::add -aten::add -late "
                     "+step +aten::mm -aten::mm -step -main ");
    EQUAL(stacks.whole[0], 42);
}

static void
by_calls(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    CLEAN(fd_stacks_clear) fd_stacks stacks = {.trace = NULL};
    OK(PICTURE(&p, run));
    OK(fd_stacks_make(&stacks, p.trace, FD_ALL_RANKS, FD_WEIGHT_CALLS));
    EQUAL(stacks.whole[0], 6);
}

/* No GPU time: calls are used instead. */
static void
calls_without_gpu_time(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    CLEAN(fd_stacks_clear) fd_stacks stacks = {.trace = NULL};
    OK(PICTURE(&p, run));
    OK(fd_stacks_make(&stacks, p.trace, FD_ALL_RANKS, FD_WEIGHT_GPU));
    EQUAL(stacks.weight, FD_WEIGHT_CALLS);
    EQUAL(stacks.whole[0], 6);
}

RUN(TEST(each_call_opens_and_closes_once), TEST(by_calls),
    TEST(calls_without_gpu_time))
