#include "check.h"
#include "pipelines.h"

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
    CLEAN(fd_pipe_report_clear) fd_pipe_report r = {.drawn_line = 0};
    pipeline_spec spec = {.schedule = "deepspeed-train",
                          .stages = 3,
                          .micro_batches = 4,
                          .transfer = 1,
                          .moves = true};
    OK(pipeline_reported(&r, &spec, FD_SCHEDULES));
    EQUAL(r.idle.shares[0].bytes, 400);
    EQUAL(r.idle.shares[2].bytes, 100);
}

RUN(TEST(as_planned), TEST(bytes))
