#include "check.h"

#include "base/budget.h"
#include "events/stats/message_table.h"

static fd_message_slice
transfer(fd_message_level level, int64_t start, int64_t end, uint64_t bytes)
{
    return (fd_message_slice){
        .message = {FD_ALL_REDUCE, bytes > 0, 2, bytes},
        .start = start,
        .end = end,
        .level = level,
        .launches = level != FD_MESSAGE_KERNEL,
    };
}

static void
kernels_with_bytes(void)
{
    CLEAN(fd_messages_clear) fd_messages messages = {.left_out = 0};
    fd_stream_table streams = {.left_out = 0};
    fd_message_slice made = transfer(FD_MESSAGE_KERNEL, 0, 100, 1000);
    OK(fd_messages_add(&messages, &made));
    made.end = 200;
    OK(fd_messages_add(&messages, &made));
    made = transfer(FD_MESSAGE_KERNEL, 300, 400, 0);
    OK(fd_messages_add(&messages, &made));
    made = transfer(FD_MESSAGE_BACKEND, 0, 1, 1000); /* of the first */
    OK(fd_messages_add(&messages, &made));
    made = transfer(FD_MESSAGE_CALL, 0, 1, 1000);
    OK(fd_messages_add(&messages, &made));
    OK(fd_messages_finish(&messages, &streams));
    EQUAL(messages.rows.count, 1);
    const fd_message_row *row = &messages.rows.list[0];
    EQUAL(row->count, 3);
    EQUAL(row->unsized, 1);
    EQUAL(row->bytes, 2000);
    EQUAL(row->timed, 2);
    EQUAL(row->time, 300);
    EQUAL(row->rate.most, UINT64_C(10000000000));
    EQUAL(row->rate.least, UINT64_C(5000000000));
}

/* Two ranges on thread 1, an inner one without an operation; kernels 1 and 2
 * are launched in the first, 3 in the second, 4 on another thread. */
static void
kernels_with_the_bytes_of_ranges(void)
{
    CLEAN(fd_messages_clear) fd_messages messages = {.left_out = 0};
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    static const struct {
        int64_t launch;
        uint32_t thread;
    } kernels[] = {{12, 1}, {18, 1}, {35, 1}, {15, 2}};
    fd_message_slice made = transfer(FD_MESSAGE_BACKEND, 10, 20, 600);
    made.thread = 1;
    OK(fd_messages_add(&messages, &made));
    made.start = 30;
    made.end = 40;
    made.message.operation = FD_ALL_TO_ALL;
    OK(fd_messages_add(&messages, &made));
    made.start = 11;
    made.end = 19;
    made.message = (fd_message){.operation = FD_OPERATION_NONE};
    OK(fd_messages_add(&messages, &made));
    for (uint32_t i = 0; i < 4; i++) {
        int64_t at = kernels[i].launch;
        fd_gpu_launch launch = {i + 1, at, at + 1, 0, kernels[i].thread};
        OK(fd_stream_table_launch(&streams, &launch));
        made = transfer(FD_MESSAGE_KERNEL, 100 * i, 100 * i + 50, 0);
        made.message.operation = FD_OPERATION_NONE;
        made.correlation = i + 1;
        OK(fd_messages_add(&messages, &made));
    }
    fd_stream_table_sort(&streams);
    OK(fd_messages_finish(&messages, &streams));
    EQUAL(messages.rows.count, 2);
    EQUAL(messages.rows.list[0].operation, FD_ALL_REDUCE);
    EQUAL(messages.rows.list[0].count, 1);
    EQUAL(messages.rows.list[0].time, 100);
    EQUAL(messages.rows.list[1].operation, FD_ALL_TO_ALL);
    EQUAL(messages.rows.list[1].time, 50);
    EQUAL(messages.rows.list[1].bytes, 600);
}

static void
without_kernels(void)
{
    static const struct {
        uint64_t backend; /* bytes */
        uint64_t call;
        uint64_t bytes; /* counted */
    } cases[] = {{10, 30, 10}, {0, 30, 30}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_messages_clear) fd_messages messages = {.left_out = 0};
        fd_stream_table streams = {.left_out = 0};
        fd_message_slice made =
            transfer(FD_MESSAGE_BACKEND, 0, 5, cases[i].backend);
        made.launches = false;
        OK(fd_messages_add(&messages, &made));
        made = transfer(FD_MESSAGE_CALL, 0, 7, cases[i].call);
        OK(fd_messages_add(&messages, &made));
        made.rank = 1;
        OK(fd_messages_add(&messages, &made));
        OK(fd_messages_finish(&messages, &streams));
        EQUAL(messages.rows.count, 1);
        EQUAL(messages.rows.list[0].count, 2);
        EQUAL(messages.rows.list[0].bytes, cases[i].bytes + cases[i].call);
        EQUAL(messages.rows.list[0].time, cases[i].backend > 0 ? 5 : 0);
    }
}

static void
transfers_are_bounded(void)
{
    CLEAN(fd_messages_clear) fd_messages messages = {.left_out = 0};
    fd_message_slice made = transfer(FD_MESSAGE_KERNEL, 0, 1, 1);
    fd_budget_shrink(1);
    OK(fd_messages_add(&messages, &made));
    OK(fd_messages_add(&messages, &made));
    fd_budget_shrink(0);
    EQUAL(messages.left_out, 1);
}

RUN(TEST(kernels_with_bytes), TEST(kernels_with_the_bytes_of_ranges),
    TEST(without_kernels), TEST(transfers_are_bounded))
