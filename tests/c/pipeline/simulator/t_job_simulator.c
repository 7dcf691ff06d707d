#include "check.h"

#include "pipeline/simulator/job_simulator.h"

/* A job of the last resource with up to two dependencies. */
static fd_status
add(fd_simulation *s, uint32_t duration, uint32_t first, uint32_t second)
{
    fd_status status = fd_sim_add_job(s, duration);
    if (status == FD_OK && first != FD_SIM_NONE) {
        status = fd_sim_depend(s, first, 0);
    }
    if (status == FD_OK && second != FD_SIM_NONE) {
        status = fd_sim_depend(s, second, 1);
    }
    return status;
}

/*     resource 0   [ 0 ]              [ 1 ]
 *     resource 1         [ 2 ][ 3 ]
 */
static fd_status
there_and_back(fd_simulation *s)
{
    fd_status status = fd_sim_add_resource(s);
    status = status == FD_OK ? add(s, 0, FD_SIM_NONE, FD_SIM_NONE) : status;
    status = status == FD_OK ? add(s, 1, 0, 3) : status;
    status = status == FD_OK ? fd_sim_add_resource(s) : status;
    status = status == FD_OK ? add(s, 0, FD_SIM_NONE, 0) : status;
    status = status == FD_OK ? add(s, 1, 2, FD_SIM_NONE) : status;
    return status == FD_OK ? fd_sim_prepare(s) : status;
}

static void
runs(void)
{
    CLEAN(fd_sim_clear) fd_simulation s = {.next = NULL};
    static const int64_t durations[] = {10, 5};
    static const int64_t slower[] = {20, 5};
    static const int64_t lags[] = {0, 3};
    OK(there_and_back(&s));
    CHECK(fd_sim_order(&s));
    fd_sim_run(&s, durations, lags);
    EQUAL(s.ends[0], 10);
    EQUAL(s.starts[2], 13);
    EQUAL(s.ends[3], 28);
    EQUAL(s.starts[1], 31);
    EQUAL(s.causes[1], 1);
    EQUAL(s.causes[0], FD_SIM_NONE);
    fd_sim_run(&s, slower, lags);
    EQUAL(s.ends[1], 56);
}

/* Of dependencies that end together the first is the cause. */
static void
causes(void)
{
    CLEAN(fd_sim_clear) fd_simulation s = {.next = NULL};
    static const int64_t durations[] = {10};
    static const int64_t lags[] = {0, 0};
    OK(fd_sim_add_resource(&s));
    OK(add(&s, 0, FD_SIM_NONE, FD_SIM_NONE));
    OK(add(&s, 0, FD_SIM_NONE, FD_SIM_NONE));
    OK(add(&s, 0, 1, 0));
    OK(fd_sim_prepare(&s));
    CHECK(fd_sim_order(&s));
    fd_sim_run(&s, durations, lags);
    EQUAL(s.dependencies.list[s.causes[2]].job, 1);
}

/* Each resource waits for the second job of the other one. */
static void
deadlock(void)
{
    CLEAN(fd_sim_clear) fd_simulation s = {.next = NULL};
    static const int64_t durations[] = {10};
    static const int64_t lags[] = {0, 0};
    OK(fd_sim_add_resource(&s));
    OK(add(&s, 0, 3, FD_SIM_NONE));
    OK(add(&s, 0, FD_SIM_NONE, FD_SIM_NONE));
    OK(fd_sim_add_resource(&s));
    OK(add(&s, 0, 1, FD_SIM_NONE));
    OK(add(&s, 0, FD_SIM_NONE, FD_SIM_NONE));
    OK(fd_sim_prepare(&s));
    CHECK(!fd_sim_order(&s));
    EQUAL(s.next[0], 0);
    EQUAL(s.next[1], 2);
    s.jobs.list[2].count = 0;
    CHECK(fd_sim_order(&s));
    fd_sim_run(&s, durations, lags);
    EQUAL(s.ends[0], 20);
}

/* A job that depends on a later one of its own resource. */
static void
own_resource(void)
{
    CLEAN(fd_sim_clear) fd_simulation s = {.next = NULL};
    OK(fd_sim_add_resource(&s));
    OK(add(&s, 0, FD_SIM_NONE, FD_SIM_NONE));
    OK(add(&s, 0, 2, FD_SIM_NONE));
    OK(add(&s, 0, FD_SIM_NONE, FD_SIM_NONE));
    OK(fd_sim_prepare(&s));
    CHECK(!fd_sim_order(&s));
    EQUAL(s.next[0], 1);
}

/* Sums that do not fit stay within the range. */
static void
saturation(void)
{
    CLEAN(fd_sim_clear) fd_simulation s = {.next = NULL};
    static const int64_t durations[] = {INT64_MAX - 1};
    static const int64_t lags[] = {INT64_MAX - 1};
    OK(fd_sim_add_resource(&s));
    OK(add(&s, 0, FD_SIM_NONE, FD_SIM_NONE));
    OK(add(&s, 0, 0, FD_SIM_NONE));
    OK(fd_sim_prepare(&s));
    CHECK(fd_sim_order(&s));
    fd_sim_run(&s, durations, lags);
    EQUAL(s.ends[1], INT64_MAX - 1);
}

RUN(TEST(runs), TEST(causes), TEST(deadlock), TEST(own_resource),
    TEST(saturation))
