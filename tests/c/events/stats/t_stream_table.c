#include "check.h"

#include "base/budget.h"
#include "events/stats/stream_table.h"

static fd_status
launch(fd_stream_table *streams, uint64_t correlation, int64_t start,
       int64_t end)
{
    return fd_stream_table_launch(
        streams, &(fd_gpu_launch){
                     .correlation = correlation, .start = start, .end = end});
}

static fd_status
kernel(fd_stream_table *streams, uint64_t correlation, int64_t stream,
       int64_t start, int64_t end)
{
    return fd_stream_table_activity(
        streams, &(fd_gpu_activity){.correlation = correlation,
                                    .start = start,
                                    .end = end,
                                    .stream = stream,
                                    .thread = 5});
}

/* In us:    launches at 0, 1, 2 and 300; kernels 10..20, 25..35, 100..110 and
 * 310..320. Gaps: 5 (short), 65 (other), 200 (launched at its end). */
static void
causes_of_idle_time(void)
{
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    OK(kernel(&streams, 4, 7, 310000, 320000));
    OK(kernel(&streams, 3, 7, 100000, 110000));
    OK(kernel(&streams, 2, 7, 25000, 35000));
    OK(kernel(&streams, 1, 7, 10000, 20000));
    OK(launch(&streams, 4, 300000, 301000));
    for (uint64_t i = 1; i <= 3; i++) {
        OK(launch(&streams, i, (int64_t)i * 1000 - 1000, (int64_t)i * 1000));
    }
    OK(fd_stream_table_finish(&streams, NULL, NULL));
    EQUAL(streams.rows.count, 1);
    const fd_stream_row *row = &streams.rows.list[0];
    EQUAL(row->stream, 7);
    EQUAL(row->count, 4);
    EQUAL(row->launched, 4);
    EQUAL(row->first, 10000);
    EQUAL(row->last, 320000);
    EQUAL(row->busy, 40000);
    EQUAL(row->kernel_wait, 5000);
    EQUAL(row->other, 65000);
    EQUAL(row->host_wait, 200000);
    const fd_gpu_delays *delays = &streams.delays.list[0];
    EQUAL(delays->delay.most, 97000);
    EQUAL(delays->delay.least, 9000);
    EQUAL(delays->call.total, 4000);
}

static void
overlapping_work_is_counted_once(void)
{
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    OK(kernel(&streams, 0, 7, 0, 100));
    OK(kernel(&streams, 0, 7, 10, 20));
    OK(kernel(&streams, 0, 7, 90, 120));
    OK(kernel(&streams, 0, 7, 150, 160));
    OK(fd_stream_table_finish(&streams, NULL, NULL));
    const fd_stream_row *row = &streams.rows.list[0];
    EQUAL(row->busy, 130);
    EQUAL(row->kernel_wait, 30);
    EQUAL(row->launched, 0);
}

/* Streams by number; threads without streams by thread. */
static void
streams_are_apart(void)
{
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    OK(kernel(&streams, 0, 7, 0, 1));
    OK(kernel(&streams, 0, 8, 0, 1));
    OK(kernel(&streams, 0, FD_NO_STREAM, 0, 1));
    fd_gpu_activity other = {.stream = FD_NO_STREAM, .end = 1, .thread = 6};
    OK(fd_stream_table_activity(&streams, &other));
    other.rank = 3;
    OK(fd_stream_table_activity(&streams, &other));
    OK(fd_stream_table_finish(&streams, NULL, NULL));
    EQUAL(streams.rows.count, 5);
    EQUAL(streams.rows.list[4].rank, 3);
    EQUAL(streams.delays.count, 0);
}

/* A graph launch starts many kernels. */
static void
many_kernels_of_a_launch(void)
{
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    OK(launch(&streams, 9, 0, 60000));
    for (int64_t i = 0; i < 20; i++) {
        OK(kernel(&streams, 9, 7, 200000 + i * 10, 200000 + i * 10 + 10));
    }
    OK(fd_stream_table_finish(&streams, NULL, NULL));
    EQUAL(streams.rows.list[0].launched, 20);
    EQUAL(streams.delays.list[0].delay.count, 1);
    EQUAL(streams.delays.list[0].delay.most, 140000);
    EQUAL(streams.delays.list[0].call.total, 60000);
}

static void
launches_are_found(void)
{
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    OK(launch(&streams, 5, 20, 30));
    OK(launch(&streams, 5, 10, 15));
    OK(fd_stream_table_launch(
        &streams,
        &(fd_gpu_launch){.correlation = 5, .start = 1, .end = 2, .rank = 1}));
    OK(kernel(&streams, 5, 7, 40, 50));
    OK(kernel(&streams, 6, 7, 60, 70));
    OK(kernel(&streams, 0, 7, 80, 90));
    for (uint32_t rank = 1; rank <= 2; rank++) {
        OK(fd_stream_table_activity(
            &streams,
            &(fd_gpu_activity){.correlation = 5, .start = 40, .rank = rank}));
    }
    OK(fd_stream_table_finish(&streams, NULL, NULL));
    EQUAL(streams.rows.list[0].launched, 1);
    EQUAL(streams.rows.list[1].launched, 1);
    EQUAL(streams.rows.list[2].launched, 0);
    EQUAL(streams.delays.list[0].delay.total, 40 - 30);
    EQUAL(streams.delays.list[0].repeated, 1);
    EQUAL(streams.delays.list[1].delay.total, 40 - 2);
}

static void
count_pair(void *context, const fd_gpu_launch *launch,
           const fd_gpu_activity *activity)
{
    *(int64_t *)context += activity->start - launch->start;
}

/* Runtime calls with driver calls inside, of two processes with the same ids,
 * work before its launch, and ids 0, which mean no id or the first one. */
static void
work_and_launches_of_equal_ids(void)
{
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    int64_t pairs = 0;
    for (int64_t i = 0; i < 2; i++) {
        fd_gpu_launch call = {.correlation = 4,
                              .start = i * 1000,
                              .end = i * 1000 + 50,
                              .thread = (uint32_t)i};
        OK(fd_stream_table_launch(&streams, &call));
        call.start += 10;
        call.end -= 10;
        OK(fd_stream_table_launch(&streams, &call));
        OK(kernel(&streams, 4, 7, i * 1000 + 60, i * 1000 + 70));
        OK(kernel(&streams, 0, 8, i, i + 1));
        OK(kernel(&streams, FD_NO_CORRELATION, 8, i, i + 1));
        OK(launch(&streams, 9, i * 500, i * 500 + 1));
    }
    OK(launch(&streams, 0, 0, 1));
    OK(kernel(&streams, 7, 7, 3000, 3010));
    OK(launch(&streams, 7, 3040, 3050));
    OK(fd_stream_table_finish(&streams, count_pair, &pairs));
    const fd_gpu_delays *delays = &streams.delays.list[0];
    EQUAL(pairs, 60 + 60 - 40 + 0 + 1);
    EQUAL(delays->delay.count, 4);
    EQUAL(delays->delay.total, 10 + 10);
    EQUAL(delays->early, 1);
    EQUAL(delays->skew, 40);
    EQUAL(delays->repeated, 2);
}

/* Two ranks in one, whose launches have the same ids and overlap. */
static void
processes_are_paired(void)
{
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t side = i % 2;
        int64_t at = i / 2 * 100 + side * 3;
        fd_gpu_launch call = {.correlation = i / 2 + 1,
                              .start = at,
                              .end = at + 5,
                              .rank = 2,
                              .process = side * 7,
                              .thread = side};
        fd_gpu_activity work = {.correlation = i / 2 + 1,
                                .start = at + 15,
                                .end = at + 25,
                                .rank = 2,
                                .process = side * 7 + 1};
        OK(fd_stream_table_launch(&streams, &call));
        OK(fd_stream_table_activity(&streams, &work));
    }
    OK(launch(&streams, 1, 0, 5));
    OK(fd_stream_table_finish(&streams, NULL, NULL));
    EQUAL(streams.delays.count, 1);
    EQUAL(streams.delays.list[0].repeated, 3);
    EQUAL(streams.delays.list[0].delay.count, 6);
    EQUAL(streams.delays.list[0].delay.least, 10);
    EQUAL(streams.delays.list[0].delay.most, 10);
}

static void
events_are_bounded(void)
{
    CLEAN(fd_stream_table_clear) fd_stream_table streams = {.left_out = 0};
    fd_budget_shrink(2);
    for (int64_t i = 0; i < 3; i++) {
        OK(launch(&streams, 1, i, i));
        OK(kernel(&streams, 1, 7, i, i));
    }
    fd_budget_shrink(0);
    EQUAL(streams.left_out, 2);
    OK(fd_stream_table_finish(&streams, NULL, NULL));
    EQUAL(streams.rows.list[0].count, 2);
}

RUN(TEST(causes_of_idle_time), TEST(overlapping_work_is_counted_once),
    TEST(streams_are_apart), TEST(many_kernels_of_a_launch),
    TEST(launches_are_found), TEST(work_and_launches_of_equal_ids),
    TEST(processes_are_paired), TEST(events_are_bounded))
