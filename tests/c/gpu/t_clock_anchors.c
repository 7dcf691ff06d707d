#include "check.h"

#include "gpu/clock_anchors.h"
#include "standin/cudart.h"

#include <math.h>

static const uint64_t SECOND = 1000000000;

static void
clear(fd_gpu_anchors *anchors)
{
    fd_gpu_anchors_clear(anchors, true);
}

#define ANCHORS(anchors, runtime) \
    fd_gpu_runtime runtime; \
    OK(fd_gpu_runtime_find(&runtime, NULL)); \
    CLEAN(clear) fd_gpu_anchors anchors = {.runtime = &runtime}

static double
worst_of_a_day(fd_gpu_anchors *anchors, double first_after)
{
    double worst = 0;
    void *mark;
    cudaEventCreateWithFlags(&mark, 0);
    uint64_t begun = standin_now();
    while (standin_now() - begun < 24 * 3600 * SECOND) {
        standin_pass(UINT64_C(637000001));
        if (fd_gpu_anchors_are_old(anchors, standin_now())
            && fd_gpu_anchors_take(anchors) != 0) {
            return 1e18;
        }
        standin_launch(NULL, 1000);
        uint64_t passed = standin_now() + 1000;
        cudaEventRecord(mark, NULL);
        standin_pass(5000);
        int64_t got = 0;
        if (fd_gpu_anchors_map(anchors, mark, &got) != 0) {
            return 1e18;
        }
        double error = fabs((double)(got - (int64_t)passed));
        if ((double)(standin_now() - begun) > first_after * 1e9
            && error > worst) {
            worst = error;
        }
    }
    cudaEventDestroy(mark);
    return worst;
}

/* float32 milliseconds are 8 ms off after a day. */
TEST(a_day_within_a_microsecond)
{
    standin_reset();
    standin_clock(SECOND);
    ANCHORS(anchors, runtime);
    EQUAL(fd_gpu_anchors_open(&anchors, &runtime, standin_now, 1.0), 0);
    CHECK(worst_of_a_day(&anchors, 0) < 1000);
    CHECK(anchors.count > 24 * 3600 / 4);
}

/* A GPU clock that is 40 us per second fast: after two anchors the rate is
 * known, and timestamps are right. */
TEST(drift_is_measured)
{
    standin_reset();
    standin_clock(SECOND);
    standin_drift(0, 40);
    ANCHORS(anchors, runtime);
    EQUAL(fd_gpu_anchors_open(&anchors, &runtime, standin_now, 1.0), 0);
    CHECK(worst_of_a_day(&anchors, 10) < 1000);
    CHECK(fabs(anchors.rate * (1 + 40e-6) - 1) < 1e-7);
}

/* An anchor that the GPU does not pass soon is dropped, and not retried
 * immediately. */
TEST(gives_up_soon)
{
    standin_reset();
    standin_clock(SECOND);
    standin_latency(SECOND);
    ANCHORS(anchors, runtime);
    EQUAL(fd_gpu_anchors_open(&anchors, &runtime, standin_now, 1.0), 0);
    uint64_t before = standin_now();
    EQUAL(fd_gpu_anchors_take(&anchors), 0);
    EQUAL(anchors.count, 0);
    CHECK(standin_now() - before < 1000000);
    CHECK(!fd_gpu_anchors_are_old(&anchors, standin_now()));
    standin_pass(SECOND);
    CHECK(fd_gpu_anchors_are_old(&anchors, standin_now()));
    standin_latency(3000);
    EQUAL(fd_gpu_anchors_take(&anchors), 0);
    EQUAL(anchors.count, 1);
    uint64_t width = fd_gpu_anchors_latest(&anchors)->width;
    CHECK(width >= 3000 && width < 4000);
}

TEST(reports_errors)
{
    standin_reset();
    ANCHORS(anchors, runtime);
    standin_fail("cudaStreamCreateWithFlags", 1, 2, 0);
    EQUAL(fd_gpu_anchors_open(&anchors, &runtime, standin_now, 1.0), 2);
    fd_gpu_anchors_clear(&anchors, true);
    EQUAL(fd_gpu_anchors_open(&anchors, &runtime, standin_now, 1.0), 0);
    standin_fail("cudaEventRecord", 3, 700, 0);
    EQUAL(fd_gpu_anchors_take(&anchors), 700);
    EQUAL(cudaPeekAtLastError(), 0);
}
