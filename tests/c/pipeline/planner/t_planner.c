#include "models.h"

#include "pipeline/planner/planner.h"

#include <math.h>

#define WORK FIGURES(1, 1, 100, 1000)
#define CHAIN \
    NODE("a", WORK) \
    NODE("b", WORK) \
    NODE("c", WORK) NODE("d", WORK) "\ta -- b\n\tb -- c\n\tc -- d\n"

TEST(every_layer_has_a_stage)
{
    MODEL(model, CHAIN);
    ARENA(arena);
    fd_pipeline pipeline;
    fd_pipeline_request request = {.costs = {.levels = 1,
                                             .machines = {2},
                                             .bandwidths = {1e3},
                                             .straight = true}};
    OK(fd_pipeline_find(&pipeline, &arena, &model, &request, NULL));
    CHECK(fabs(pipeline.best.time - 0.004) < 1e-12);
    for (uint32_t i = 0; i < 4; i++) {
        EQUAL(fd_pipeline_stage(&pipeline, i), i / 2);
    }
    fd_block_ends ends = fd_pipeline_ends(&pipeline, &model,
                                          pipeline.best.stages.list[1].block);
    SAME(ends.first, "c");
    SAME(ends.last, "d");
    EQUAL(ends.layers, 2);
}

TEST(models_without_a_plan)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "the graph has no layer"},
        {CHAIN "\ta -- b\n", "the edges are not in order"},
        {NODE("a", WORK) "\ta -- a\n", "the edges are not in order"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        MODEL(model, cases[i].text);
        ARENA(arena);
        fd_pipeline pipeline;
        fd_pipeline_request request = {
            .costs = {.levels = 1, .machines = {2}, .bandwidths = {1e3}}};
        fd_error error = {""};
        STATUS(fd_pipeline_find(&pipeline, &arena, &model, &request, &error),
               FD_EINVAL);
        SAME(error.text, cases[i].message);
    }
}

TEST(missing_plan_is_reported)
{
    static const struct {
        fd_costs costs;
        const char *message;
    } cases[] = {
        {{.levels = 1, .machines = {5}, .bandwidths = {1e9}, .straight = true},
         "5 stages of at least one layer: the graph has 4 layers"},
        {{.levels = 1,
          .machines = {2},
          .bandwidths = {1e9},
          .straight = true,
          .memory = FD_MEMORY_FLUSHED,
          .capacity = 4000},
         "no plan fits into 4000 bytes per machine: without the bound stage "
         "0 "
         "(2 layers, a to b) lacks 400 bytes"},
        {{.levels = 0}, "0 levels of machines: 1 to 8"},
    };
    MODEL(model, CHAIN);
    ARENA(arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_pipeline pipeline;
        fd_pipeline_request request = {.costs = cases[i].costs};
        fd_error error = {""};
        STATUS(fd_pipeline_find(&pipeline, &arena, &model, &request, &error),
               FD_EINVAL);
        SAME(error.text, cases[i].message);
    }
}

/* Too few steps, or too many states: the plan is one on chains. */
TEST(plans_on_chains)
{
    MODEL(model, CHAIN);
    ARENA(arena);
    fd_pipeline_request request = {
        .costs = {.levels = 1, .machines = {3}, .bandwidths = {1e3}}};
    for (int i = 0; i < 2; i++) {
        fd_pipeline pipeline;
        request.effort = i == 0 ? 8 : 0;
        request.most_states = i == 1 ? 2 : 0;
        OK(fd_pipeline_find(&pipeline, &arena, &model, &request, NULL));
        CHECK(!pipeline.states.complete);
        CHECK(pipeline.best.stages.count > 0);
        CHECK(pipeline.best.bound < pipeline.best.time);
        CHECK(pipeline.best.bound >= 0.008 / 3 * (1 - 1e-9));
    }
}
