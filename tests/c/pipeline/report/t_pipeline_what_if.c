#include "check.h"
#include "pipelines.h"

static const fd_pipe_if *
find(const fd_pipe_report *r, fd_if_change change, int32_t stage)
{
    for (uint32_t i = 0; i < r->ifs.list.count; i++) {
        const fd_pipe_if *one = &r->ifs.list.list[i];
        if (one->change == change && (stage < 0 || one->stage == stage)) {
            return one;
        }
    }
    return NULL;
}

static const fd_pipe_if *
find_schedule(const fd_pipe_report *r, fd_schedule schedule)
{
    for (uint32_t i = 0; i < r->ifs.list.count; i++) {
        const fd_pipe_if *one = &r->ifs.list.list[i];
        if (one->change == FD_IF_SCHEDULE && one->schedule == schedule) {
            return one;
        }
    }
    return NULL;
}

/* F = (1, 2, 1), B = 2 F, 4 micro-batches: 28; the balance of it is 24 (F =
 * 4/3, B = 8/3), and the stage in the middle is the one to make faster. */
static void
unbalanced(void)
{
    static const int64_t middle[] = {30, 60, 30};
    REPORTED(r, .schedule = "1f1b", .stages = 3, .micro_batches = 4,
             .forward = middle);
    EQUAL(r.ifs.base.makespan, 840 * PIPELINE_UNIT);
    EQUAL(r.ifs.stages.makespan, 840 * PIPELINE_UNIT);
    EQUAL(r.ifs.ideal.makespan, 720 * PIPELINE_UNIT);
    CHECK(r.ifs.ideal.of_total == 1.0 / 3 && r.ifs.ideal.of_ideal == 0.5);
    EQUAL(find(&r, FD_IF_BALANCED, -1)->saves, 120 * PIPELINE_UNIT);
    /* A tenth of 24, less what it waits longer for its first gradient. */
    EQUAL(find(&r, FD_IF_FASTER, 1)->saves, 66 * PIPELINE_UNIT);
    EQUAL(find(&r, FD_IF_FASTER, 0)->saves, 9 * PIPELINE_UNIT);
    CHECK(find(&r, FD_IF_OVERLAPPED, -1) == NULL);
    CHECK(find(&r, FD_IF_MOVED, -1) == NULL);
}

/* Four stages, eight micro-batches: 33; sixteen take 57, half of it 28.5;
 * interleaved 28.5 of F = B / 2 = 1 a whole stage. */
static void
schedules_and_micro_batches(void)
{
    REPORTED(r, .schedule = "gpipe", .stages = 4, .micro_batches = 8);
    EQUAL(r.ifs.base.makespan, 330 * PIPELINE_UNIT);
    EQUAL(find(&r, FD_IF_DOUBLED, -1)->saves, 45 * PIPELINE_UNIT);
    EQUAL(find_schedule(&r, FD_SCHEDULE_1F1B)->saves, 0);
    EQUAL(find_schedule(&r, FD_SCHEDULE_INTERLEAVED)->saves,
          45 * PIPELINE_UNIT);
    EQUAL(find_schedule(&r, FD_SCHEDULE_ZB_H1)->saves, 60 * PIPELINE_UNIT);
    CHECK(find_schedule(&r, FD_SCHEDULE_GPIPE) == NULL);
}

/* Transfers of a tenth: DeepSpeed's order takes 36.2 where 33.6 would do. */
static void
overlapped(void)
{
    REPORTED(r, .schedule = "deepspeed-train", .stages = 4, .micro_batches = 8,
             .transfer = 1, .moves = true);
    CHECK(r.schedule.blocking);
    EQUAL(r.ifs.base.makespan, 362 * PIPELINE_UNIT);
    CHECK(find(&r, FD_IF_OVERLAPPED, -1)->saves > 0);
    CHECK(find(&r, FD_IF_OVERLAPPED, -1)->saves <= 32 * PIPELINE_UNIT);
}

/* Sends that are posted: F 10, B 20, a transfer 1 after both have come, in the
 * order of GPipe. Stage 1 takes each of 4 activations when it has nothing else
 * to do: the first at 10 to 11, then it computes until the next is fetched: 4
 * times 11. Its first gradient is made at 10 + 44 + 20 and fetched; stage 0
 * then takes 20 a micro-batch and fetches 3 more: 4 times 21. Overlapped, data
 * is there except for the first of each direction. */
static void
posted(void)
{
    REPORTED(r, .schedule = "gpipe", .stages = 2, .micro_batches = 4,
             .transfer = 1, .posts = true, .moves = true);
    CHECK(!r.schedule.blocking && !r.schedule.mixed);
    CHECK(r.schedule.posted != NULL);
    EQUAL(r.ifs.base.makespan, (10 + 44 + 20 + 84) * PIPELINE_UNIT);
    EQUAL(find(&r, FD_IF_OVERLAPPED, -1)->saves, 6 * PIPELINE_UNIT);
}

/* One send of stage 0 is posted, and waited for after the next computation. */
static void
mixed(void)
{
    fd_pipe_request request = {.named = FD_SCHEDULES};
    SIMULATED(r, .schedule = "1f1b", .stages = 2, .micro_batches = 4,
              .transfer = 1, .moves = true);
    fd_pipe_job *send = NULL;
    for (uint32_t i = 0; i < r.pipeline.jobs.count; i++) {
        if (r.pipeline.jobs.list[i].kind == FD_JOB_SA) {
            send = &r.pipeline.jobs.list[i];
            break;
        }
    }
    CHECK(send != NULL);
    send->flags = FD_PIPE_POSTED;
    OK(fd_pipeline_settle(&r.pipeline));
    OK(fd_pipeline_report(&r, &request, NULL));
    CHECK(!r.schedule.blocking && r.schedule.mixed);
    CHECK(find(&r, FD_IF_OVERLAPPED, -1) != NULL);
}

/* Stage 1 has layers 1 to 4, all alike: one of them to stage 0 or 2 makes it
 * a quarter faster. */
static void
layers(void)
{
    static const int64_t middle[] = {10, 40, 10};
    static const uint32_t first[] = {0, 1, 5, 6};
    static const double weights[] = {1, 0, 2, 1, 1, 1};
    for (int weighed = 0; weighed < 2; weighed++) {
        fd_pipe_request request = {
            .named = FD_SCHEDULES,
            .layers = {3, first, weighed ? weights : NULL}};
        SIMULATED(r, .schedule = "1f1b", .stages = 3, .micro_batches = 4,
                  .forward = middle);
        OK(fd_pipeline_settle(&r.pipeline));
        OK(fd_pipeline_report(&r, &request, NULL));
        const fd_pipe_if *up = &r.ifs.list.list[r.ifs.list.count - 1];
        const fd_pipe_if *down = up - 1;
        EQUAL(down->change, FD_IF_MOVED);
        EQUAL(down->layer, 1);
        EQUAL(down->stage, 1);
        EQUAL(down->to, 0);
        EQUAL(up->layer, 4);
        EQUAL(up->to, 2);
        /* 4 (F + B) of 40 + 80 less a quarter, and 10 + 20 more at one end. */
        EQUAL(up->saves, (4 * 30 - 30) * PIPELINE_UNIT);
        EQUAL(down->saves, weighed ? 0 : (4 * 30 - 30) * PIPELINE_UNIT);
    }
}

RUN(TEST(unbalanced), TEST(schedules_and_micro_batches), TEST(overlapped),
    TEST(posted), TEST(mixed), TEST(layers))
