#include "check.h"
#include "pipelines.h"

/* Idle time of an iteration, over all ranks, in thousandths of a unit. */
static int64_t
idle_of(const fd_pipe_report *r, uint32_t rank)
{
    const fd_pipe_share *share =
        fd_pipe_share_of(r->idle.shares, &r->pipeline, rank, 0);
    return (share->end - share->start - share->parts[FD_PART_BUSY])
         / PIPELINE_UNIT;
}

static int64_t
sum_of(const fd_pipe_share *share)
{
    int64_t sum = 0;
    for (int part = 0; part < FD_PARTS; part++) {
        sum += share->parts[part];
    }
    return sum;
}

/* Worked out by hand and by simulation, F = 1, B = 2; idle over all stages. */
static void
known_figures(void)
{
    static const int64_t halves[] = {5, 5, 5, 5, 5, 5, 5, 5};
    static const int64_t middle[] = {10, 20, 10};
    static const int64_t first[] = {30, 10};
    static const struct {
        const char *schedule;
        uint32_t stages;
        uint32_t micro_batches;
        const int64_t *forward;
        int64_t transfer;
        int64_t makespan; /* tenths */
        int64_t idle[4];
    } cases[] = {
        {"1f1b", 2, 4, NULL, 0, 150, {30, 30}},
        {"1f1b", 3, 4, NULL, 0, 180, {60, 60, 60}},
        {"1f1b", 4, 4, NULL, 0, 210, {90, 90, 90, 90}},
        {"1f1b", 4, 8, NULL, 0, 330, {90, 90, 90, 90}},
        {"gpipe", 4, 8, NULL, 0, 330, {90, 90, 90, 90}},
        {"interleaved", 2, 4, halves, 0, 135, {15, 15}},
        {"interleaved", 4, 8, halves, 0, 285, {45, 45, 45, 45}},
        {"1f1b", 3, 4, middle, 0, 280, {160, 40, 160}},
        {"1f1b", 2, 4, first, 0, 360, {0, 240}},
        {"deepspeed-train", 2, 4, NULL, 1, 158, {38, 38}},
        {"deepspeed-train", 3, 4, NULL, 1, 194, {74, 74, 74}},
        {"deepspeed-train", 4, 4, NULL, 1, 226, {106, 106, 106, 106}},
        {"deepspeed-train", 2, 8, NULL, 1, 286, {46, 46}},
        {"deepspeed-train", 3, 8, NULL, 1, 330, {90, 90, 90}},
        {"deepspeed-train", 4, 8, NULL, 1, 362, {122, 122, 122, 122}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int moves = 0; moves < 2; moves++) {
            CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
            pipeline_spec spec = {.schedule = cases[i].schedule,
                                  .stages = cases[i].stages,
                                  .micro_batches = cases[i].micro_batches,
                                  .forward = cases[i].forward,
                                  .transfer = cases[i].transfer,
                                  .moves = moves != 0};
            OK(pipeline_reported(&r, &spec, FD_SCHEDULES));
            for (uint32_t rank = 0; rank < spec.stages; rank++) {
                const fd_pipe_share *share =
                    fd_pipe_share_of(r.idle.shares, &r.pipeline, rank, 0);
                EQUAL(share->end - share->start,
                      cases[i].makespan * PIPELINE_UNIT);
                EQUAL(idle_of(&r, rank), cases[i].idle[rank]);
                EQUAL(sum_of(share), share->end - share->start);
                EQUAL(share->parts[FD_PART_UNMATCHED], 0);
            }
            CHECK(r.schedule.known);
        }
    }
}

/* Two stages, four micro-batches, transfers of a tenth: all that is idle has
 * a cause, and both ends of a transfer say the same. */
static void
waits_apart_from_transfers(void)
{
    REPORTED(r, .schedule = "deepspeed-train", .stages = 2, .micro_batches = 4,
             .transfer = 1, .moves = true);
    EQUAL(r.matches.matched, 8);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const fd_pipe_share *share =
            fd_pipe_share_of(r.idle.shares, &r.pipeline, rank, 0);
        EQUAL(share->parts[FD_PART_TRANSFER], 8 * PIPELINE_UNIT);
        EQUAL(share->parts[FD_PART_LAUNCH], 0);
        EQUAL(share->parts[FD_PART_STEADY], 0);
        EQUAL(share->parts[FD_PART_WARM_UP] + share->parts[FD_PART_COOL_DOWN],
              30 * PIPELINE_UNIT);
    }
    const fd_pipe_job *receive = pipeline_find(&r.pipeline, "RA", 1, 0);
    CHECK(receive != NULL);
    EQUAL(receive->ready - receive->start, 10 * PIPELINE_UNIT);
    EQUAL(receive->end - receive->ready, 1 * PIPELINE_UNIT);
    const fd_pipe_job *send = pipeline_find(&r.pipeline, "SG", 1, 0);
    CHECK(send != NULL);
    EQUAL(send->end - send->ready, 1 * PIPELINE_UNIT);
    const fd_pipe_job *other = &r.pipeline.jobs.list[send->other];
    EQUAL(other->ready, send->ready);
}

/* The slow stage in the middle is what the others wait for. */
static void
awaited_stages(void)
{
    static const int64_t middle[] = {10, 20, 10};
    for (int moves = 0; moves < 2; moves++) {
        REPORTED(r, .schedule = "1f1b", .stages = 3, .micro_batches = 4,
                 .forward = middle, .moves = moves != 0);
        const int64_t *waits = r.idle.waits;
        CHECK(waits[0 * 3 + 1] >= 120 * PIPELINE_UNIT);
        CHECK(waits[2 * 3 + 1] >= 90 * PIPELINE_UNIT);
        EQUAL(waits[0 * 3 + 2], 0);
        EQUAL(waits[1 * 3 + 1], 0);
    }
}

/* load (0..3), nothing (..5), F 5..10, a receive in it 6..8, OPT 12..14. */
static void
each_part(void)
{
    ONE_RANK(r, p);
    OK(pipeline_job(p, "load", 0, 0, 0, 3));
    OK(pipeline_job(p, "forward", 0, 0, 5, 10));
    OK(pipeline_job(p, "RG", 0, 0, 6, 8));
    OK(pipeline_job(p, "RD", 0, -1, 11, 12));
    OK(pipeline_job(p, "optimizer", 0, -1, 12, 14));
    OK(pipeline_job(p, "what", 0, -1, 14, 15));
    REPORT(r);
    static const int64_t parts[FD_PARTS] = {
        [FD_PART_BUSY] = 3,   [FD_PART_UNMATCHED] = 2, [FD_PART_LOAD] = 3,
        [FD_PART_LAUNCH] = 3, [FD_PART_REDUCE] = 1,    [FD_PART_OPTIMIZER] = 2,
        [FD_PART_OTHER] = 1};
    for (int part = 0; part < FD_PARTS; part++) {
        EQUAL(r.idle.shares[0].parts[part], parts[part]);
    }
    int64_t time = 0;
    for (uint32_t i = 0; i < r.idle.intervals.count; i++) {
        EQUAL(r.idle.intervals.list[i].start, time);
        time = r.idle.intervals.list[i].end;
    }
    EQUAL(time, 15);
}

/* Passes in flight are as planned, for each schedule and stage. */
static void
as_planned(void)
{
    static const struct {
        const char *schedule;
        uint32_t stages, micro_batches;
    } cases[] = {{"1f1b", 4, 8},  {"gpipe", 3, 5}, {"interleaved", 2, 4},
                 {"zb-h1", 4, 8}, {"zb-v", 2, 6},  {"deepspeed-train", 4, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
        pipeline_spec spec = {.schedule = cases[i].schedule,
                              .stages = cases[i].stages,
                              .micro_batches = cases[i].micro_batches};
        OK(pipeline_reported(&r, &spec, FD_SCHEDULES));
        CHECK(r.schedule.known);
        for (uint32_t stage = 0; stage < spec.stages; stage++) {
            EQUAL(r.idle.shares[stage].in_flight,
                  fd_plan_in_flight(&r.schedule.plan, stage));
        }
    }
}

/* Bytes are allocated by transfers and released by the backward pass: stage 0
 * of three sends 100 per micro-batch, has three of them, and receives 100. */
static void
bytes(void)
{
    REPORTED(r, .schedule = "deepspeed-train", .stages = 3, .micro_batches = 4,
             .transfer = 1, .moves = true);
    EQUAL(r.idle.shares[0].bytes, 400);
    EQUAL(r.idle.shares[2].bytes, 100);
}

RUN(TEST(known_figures), TEST(waits_apart_from_transfers),
    TEST(awaited_stages), TEST(each_part), TEST(as_planned), TEST(bytes))
