#include "check.h"

#include "pipeline/plan_simulator.h"
#include "pipeline/planner/compiled_schedule.h"

#include <math.h>

enum { PARTS = 6 };

/* Whole numbers, so that the exact player agrees to the last bit. */
static void
fill(fd_part *parts, int64_t times[4][PARTS])
{
    for (int i = 0; i < PARTS; i++) {
        parts[i] = (fd_part){.forward = 3 + i % 4,
                             .backward = 4 + 2 * (i % 3),
                             .transfer = i > 0 ? 1 + i % 2 : 0};
        times[0][i] = (int64_t)parts[i].forward;
        times[1][i] = (int64_t)parts[i].backward;
        times[2][i] = (int64_t)parts[i].transfer;
    }
    for (int i = 0; i < PARTS; i++) {
        times[3][i] = i + 1 < PARTS ? times[2][i + 1] : 0;
    }
}

static fd_status
play(const fd_plan *plan, int64_t times[4][PARTS], int64_t *makespan)
{
    int64_t half[PARTS];
    for (int i = 0; i < PARTS; i++) {
        half[i] = times[1][i] / 2;
    }
    fd_replay_prices prices = {.of_kind = {[FD_JOB_F] = times[0],
                                           [FD_JOB_B] = times[1],
                                           [FD_JOB_I] = half,
                                           [FD_JOB_W] = half,
                                           [FD_JOB_RA] = times[2],
                                           [FD_JOB_RG] = times[3]}};
    CLEAN(fd_replay_clear) fd_replay replay = {.begin = NULL};
    int64_t *jobs = fd_calloc(plan->jobs.count, sizeof *jobs);
    fd_status status = FD_ENOMEM;
    if (jobs != NULL) {
        fd_replay_price(jobs, plan, &prices);
        status = fd_replay_run(&replay, plan, jobs, false, NULL);
        *makespan = replay.makespan;
    }
    fd_free(jobs);
    return status;
}

static void
as_the_exact_player(void)
{
    static const fd_plan_request requests[] = {
        {FD_SCHEDULE_GPIPE, 6, 5, 0, 0}, {FD_SCHEDULE_1F1B, 6, 9, 0, 0},
        {FD_SCHEDULE_ZB_H1, 6, 8, 0, 0}, {FD_SCHEDULE_INTERLEAVED, 3, 6, 2, 0},
        {FD_SCHEDULE_ZB_V, 3, 7, 0, 0},
    };
    fd_part parts[PARTS];
    int64_t times[4][PARTS];
    fill(parts, times);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        CLEAN(fd_compiled_clear) fd_compiled compiled = {.durations = NULL};
        OK(fd_compiled_make(&compiled, &requests[i], NULL));
        int64_t expected = 0;
        OK(play(&compiled.plan, times, &expected));
        CHECK(fabs(fd_compiled_time(&compiled, parts) - (double)expected)
              < 1e-9);
    }
}

static void
gradients_are_reduced_last(void)
{
    CLEAN(fd_compiled_clear) fd_compiled compiled = {.durations = NULL};
    fd_plan_request request = {FD_SCHEDULE_1F1B, 2, 2, 0, 0};
    fd_part parts[2] = {{.forward = 1, .backward = 2, .reduce = 1},
                        {.forward = 1, .backward = 2, .reduce = 5}};
    OK(fd_compiled_make(&compiled, &request, NULL));
    /* 9 is where rank 0 ends; rank 1 is done at 7. */
    CHECK(fabs(fd_compiled_time(&compiled, parts) - 12) < 1e-9);
}

static void
memory_of_ranks(void)
{
    CLEAN(fd_compiled_clear) fd_compiled pipe = {.durations = NULL};
    CLEAN(fd_compiled_clear) fd_compiled loops = {.durations = NULL};
    fd_plan_request request = {FD_SCHEDULE_1F1B, 3, 8, 0, 0};
    fd_part parts[4] = {{.saved = 10, .kept = 1},
                        {.saved = 100, .kept = 2},
                        {.saved = 1000, .kept = 3},
                        {.saved = 10000, .kept = 4}};
    OK(fd_compiled_make(&pipe, &request, NULL));
    CHECK(fd_compiled_memory(&pipe, 0, parts) <= 31
          && fd_compiled_memory(&pipe, 0, parts) >= 31);
    CHECK(fd_compiled_memory(&pipe, 2, parts) <= 1003
          && fd_compiled_memory(&pipe, 2, parts) >= 1003);
    request = (fd_plan_request){FD_SCHEDULE_INTERLEAVED, 2, 4, 2, 0};
    OK(fd_compiled_make(&loops, &request, NULL));
    /* 1F0 1F1 3F0 3B0 3F1 3B1 1F2 ...: two of part 1 beside one of part 3. */
    CHECK(fabs(fd_compiled_memory(&loops, 1, parts) - (2 + 4 + 10200)) < 1e-9);
}

static void
schedules_without_engine(void)
{
    CLEAN(fd_compiled_clear) fd_compiled compiled = {.durations = NULL};
    fd_plan_request request = {FD_SCHEDULE_INTERLEAVED, 2, 5, 2, 0};
    STATUS(fd_compiled_make(&compiled, &request, NULL), FD_EINVAL);
}

RUN(TEST(as_the_exact_player), TEST(gradients_are_reduced_last),
    TEST(memory_of_ranks), TEST(schedules_without_engine))
