#include "models.h"

#include "pipeline/planner/planner.h"

#include <math.h>

#define WORK FIGURES(1, 1, 100, 1000)
#define CHAIN \
    NODE("a", WORK) \
    NODE("b", WORK) \
    NODE("c", WORK) NODE("d", WORK) "\ta -- b\n\tb -- c\n\tc -- d\n"

static void
a_step_of_a_schedule(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_pipeline_clear) fd_pipeline pipeline = {.one_more = 0};
    fd_pipeline_request request = {.costs = {.levels = 1,
                                             .machines = {2},
                                             .bandwidths = {1e9},
                                             .straight = true,
                                             .memory = FD_MEMORY_FLUSHED,
                                             .capacity = 1e6},
                                   .second = true,
                                   .gains = true,
                                   .schedule = FD_SCHEDULE_1F1B,
                                   .micro_batches = 3};
    OK(model_of(&model, CHAIN, NULL));
    OK(fd_pipeline_find(&pipeline, &model, &request, NULL));
    CHECK(fabs(pipeline.scheduled.best.time - 0.016) < 1e-12);
    CHECK(fabs(pipeline.scheduled.asynchronous - 0.016) < 1e-12);
    CHECK(fabs(pipeline.second_step - 0.018) < 1e-12);
    CHECK(pipeline.one_more.time < 0.0161);
    CHECK(fabs(pipeline.twice.time - 0.016) < 1e-12);
    EQUAL(pipeline.best.stages.count, 2);
    /* Weights and gradients of two layers, two micro-batches in flight. */
    CHECK(fabs(pipeline.best.stages.list[0].memory - 4400) < 1e-9);
    CHECK(fabs(pipeline.best.stages.list[1].memory - 4200) < 1e-9);
    EQUAL(pipeline.best.stages.list[0].after, 1);
}

static void
missing_plan_is_reported(void)
{
    static const struct {
        fd_pipeline_request request;
        const char *message;
    } cases[] = {
        {{.costs = {.levels = 1,
                    .machines = {5},
                    .bandwidths = {1e9},
                    .straight = true},
          .schedule = FD_SCHEDULE_1F1B,
          .micro_batches = 1},
         "5 stages of at least one layer: the graph has 4 layers"},
        {{.costs = {.levels = 1,
                    .machines = {2},
                    .bandwidths = {1e9},
                    .straight = true,
                    .memory = FD_MEMORY_FLUSHED,
                    .capacity = 4000},
          .schedule = FD_SCHEDULE_1F1B,
          .micro_batches = 3},
         "no plan for 1f1b was found that fits into 4000 bytes per machine: "
         "without the bound the rank of stage 0 lacks 400 bytes"},
        {{.costs = {.levels = 2, .machines = {2, 2}, .bandwidths = {1e9, 1e9}},
          .schedule = FD_SCHEDULE_1F1B,
          .micro_batches = 1},
         "1f1b: planned for one level of machines, not 2"},
        {{.costs = {.levels = 1,
                    .machines = {2},
                    .bandwidths = {1e9},
                    .memory = FD_MEMORY_STASHED},
          .schedule = FD_SCHEDULE_ZB_V,
          .micro_batches = 1},
         "zb-v is synchronous: its memory model is flushed"},
        {{.costs = {.levels = 1, .machines = {257}, .bandwidths = {1e9}},
          .schedule = FD_SCHEDULE_GPIPE,
          .micro_batches = 1},
         "gpipe: planned for at most 256 machines, not 257"},
        {{.costs = {.levels = 1,
                    .machines = {2},
                    .bandwidths = {1e9},
                    .straight = true},
          .schedule = FD_SCHEDULE_INTERLEAVED,
          .micro_batches = 5,
          .chunks = 2},
         "interleaved: 5 micro-batches are not a multiple of the 2 rounds "
         "that 2 "
         "stages make of them; give a multiple of 2, or a group"},
    };
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    OK(model_of(&model, CHAIN, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_pipeline_clear) fd_pipeline pipeline = {.one_more = 0};
        fd_error error = {""};
        STATUS(fd_pipeline_find(&pipeline, &model, &cases[i].request, &error),
               FD_EINVAL);
        SAME(error.text, cases[i].message);
    }
}

RUN(TEST(a_step_of_a_schedule), TEST(missing_plan_is_reported))
