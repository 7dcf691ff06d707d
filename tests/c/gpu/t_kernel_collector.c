#include "fixtures.h"

#include "gpu/kernel_collector.h"
#include "recording/gpu_format.h"
#include "standin/cupti.h"

#include <sys/wait.h>
#include <unistd.h>

static uint32_t context_now = 100;

static fd_launcher
running(uint64_t now)
{
    (void)now;
    return (fd_launcher){.context = context_now};
}

static fd_header *
header_of(const fixture *f)
{
    return fd_file_header(&f->recording->file);
}

static const fd_kernel_record *
record(const fixture *f, uint32_t at)
{
    const fd_file *file = &f->recording->file;
    size_t offset = FD_PAGE;
    while (offset < fd_file_header(file)->file_bytes) {
        const fd_chunk *chunk = (const void *)(file->base + offset);
        if (chunk->kind == FD_CHUNK_KERNELS) {
            return at < chunk->used
                     ? (const fd_kernel_record *)(chunk + 1) + at
                     : NULL;
        }
        offset += chunk->bytes;
    }
    return NULL;
}

static void
close_open(fd_kernel_collector **collector)
{
    if (*collector != NULL && (*collector)->figures != NULL) {
        fd_kernels_close(*collector, false);
    }
}

#define COLLECTOR(collector, f) \
    standin_cupti_reset(); \
    FIXTURE(f, NULL, 4); \
    check_clock(0); \
    context_now = 100; \
    CLEAN(close_open) fd_kernel_collector *collector = NULL; \
    OK(fd_kernels_open(&collector, f.recording, running, NULL))

/* Kernels of the window are counted below their contexts; those before and
 * after it are not. */
ONCE(collects_a_window)
{
    COLLECTOR(collector, f);
    standin_cupti_launch("before", 50, 0);
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_launch("gemm", 30, 0);
    standin_cupti_launch("gemm", 12, 0);
    context_now = 200;
    standin_cupti_launch(NULL, 5, 4096);
    fd_kernels_pause(collector, false);
    standin_cupti_launch("after", 50, 0);
    CHECK(!fd_kernels_wait(collector, 1000));
    CHECK(!fd_kernels_expected(collector));
    CHECK(standin_cupti_kinds() != 0);
    fd_kernels_settle(collector, false);
    EQUAL(standin_cupti_kinds(), 0);
    EQUAL(collector->state, FD_KERNELS_OFF);
    fd_kernels_close(collector, false);
    EQUAL(collector->unknown, 0);
    FIELDS(record(&f, 0), (context, 100), (count, 2), (ns, 42), (stream, 7));
    FIELDS(record(&f, 1), (context, 200), (bytes, 4096));
    CHECK(record(&f, 2) == NULL);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_UNFINISHED], 0);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_LOST], 0);
}

/* Records that come during the next window are those of this one. */
ONCE(collects_late_records)
{
    COLLECTOR(collector, f);
    standin_cupti_delay(1);
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_launch("first", 30, 0);
    fd_kernels_pause(collector, false);
    fd_kernels_settle(collector, false);
    EQUAL(collector->state, FD_KERNELS_DRAINING);
    standin_cupti_launch("between", 50, 0);
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_launch("second", 12, 0);
    standin_cupti_delay(0);
    fd_kernels_pause(collector, false);
    CHECK(!fd_kernels_wait(collector, 1000));
    fd_kernels_close(collector, false);
    EQUAL(record(&f, 0)->ns, 30);
    EQUAL(record(&f, 1)->ns, 12);
    CHECK(record(&f, 2) == NULL);
    EQUAL(standin_cupti_kinds(), 0);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_UNFINISHED], 0);
}

/* Launches that were captured are not waited for, once the latest has run. */
ONCE(does_not_wait_for_captured_launches)
{
    COLLECTOR(collector, f);
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_call(FD_CUDA_DRIVER, 307, 1);
    standin_cupti_next(2);
    standin_cupti_node(11, 0); /* known to be captured */
    EQUAL(fd_launches_pending(&collector->launches), 1);
    standin_cupti_launch("last", 30, 0);
    fd_kernels_pause(collector, false);
    CHECK(!fd_kernels_wait(collector, 1000));
    EQUAL(fd_launches_pending(&collector->launches), 1);
    fd_kernels_close(collector, false);
    EQUAL(record(&f, 0)->ns, 30);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_UNFINISHED], 1);
}

/* At the end, a forced flush returns what has run; a launch without a kernel
 * (captured into a graph) is counted. */
ONCE(counts_what_is_missing)
{
    COLLECTOR(collector, f);
    standin_cupti_delay(1);
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_launch("last", 30, 0);
    standin_cupti_call(FD_CUDA_DRIVER, 307, 77);
    fd_kernels_close(collector, false);
    EQUAL(record(&f, 0)->ns, 30);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_UNFINISHED], 1);
}

/* A damaged record ends its buffer, and is counted. */
ONCE(survives_damage)
{
    COLLECTOR(collector, f);
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_tear();
    standin_cupti_delay(1);
    standin_cupti_launch("first", 30, 0);
    standin_cupti_launch("second", 12, 0);
    fd_kernels_close(collector, false);
    EQUAL(record(&f, 0)->ns, 30);
    CHECK(record(&f, 1) == NULL);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_LOST], 1);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_UNFINISHED], 1);
}

/* While another tool has CUPTI, its buffers and kinds are not touched. */
ONCE(leaves_other_tools_alone)
{
    COLLECTOR(collector, f);
    standin_cupti_hold("Nsight Systems");
    CHECK(!fd_kernels_start(collector, false, -1));
    SAME(collector->problem, "libcupti.so.13 is in use by Nsight Systems");
    EQUAL(standin_cupti_calls("cuptiActivityRegisterCallbacks"), 0);
    EQUAL(standin_cupti_calls("cuptiActivityEnable"), 0);
    standin_cupti_hold(NULL);
    CHECK(fd_kernels_start(collector, false, -1));
    fd_kernels_pause(collector, false);
    standin_cupti_hold("Kineto"); /* it comes between two steps */
    standin_cupti_take_over();
    standin_cupti_launch("its own", 30, 0);
    fd_kernels_settle(collector, false);
    CHECK(standin_cupti_kinds() != 0);
    EQUAL(standin_cupti_calls("cuptiActivityDisable"), 0);
    fd_kernels_close(collector, false);
    EQUAL(standin_cupti_calls("cuptiActivityDisable"), 0);
}

/* A profiler that begins in a window gets the records; the launches are
 * counted. */
ONCE(gives_way_to_a_profiler)
{
    COLLECTOR(collector, f);
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_take_over();
    standin_cupti_launch("its own", 30, 0);
    fd_kernels_settle(collector, true);
    EQUAL(collector->state, FD_KERNELS_OFF);
    EQUAL(standin_cupti_calls("cuptiActivityDisable"), 0);
    fd_kernels_close(collector, true);
    EQUAL(standin_cupti_calls("cuptiActivityDisable"), 0);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_UNFINISHED], 1);
    CHECK(record(&f, 0) == NULL);
}

/* CUPTI calls after the end of a recording, and while the process exits: its
 * records are not read, and not part of the next recording. */
ONCE(late_calls_are_harmless)
{
    COLLECTOR(collector, f);
    CHECK(fd_kernels_start(collector, false, -1));
    fd_kernels_close(collector, true); /* the kinds stay enabled */
    standin_cupti_launch("late", 30, 0);
    EQUAL(collector->cupti.flush(1), 0);
    CHECK(record(&f, 0) == NULL);
    OK(fd_kernels_open(&collector, f.recording, running, NULL));
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_launch("gemm", 12, 0);
    fd_kernels_close(collector, false);
    EQUAL(record(&f, 0)->ns, 12);
    CHECK(record(&f, 1) == NULL);
}

ONCE(errors_are_described)
{
    COLLECTOR(collector, f);
    standin_cupti_fail("cuptiSubscribe_v2", 9);
    CHECK(!fd_kernels_start(collector, false, -1));
    SAME(collector->problem,
         "libcupti.so.13 refuses a subscription (error 9)");
    standin_cupti_fail("cuptiSubscribe_v2", 0);
    standin_cupti_fail("cuptiActivityEnable", FD_CUPTI_REFUSED);
    CHECK(!fd_kernels_start(collector, false, -1));
    SAME(collector->problem, "libcupti.so.13: no permission to trace the GPU");
    CHECK(collector->subscriber == NULL);
    standin_cupti_fail("cuptiActivityEnable", 0);
    standin_cupti_fail("cuptiActivityRegisterCallbacks", 1);
    CHECK(!fd_kernels_start(collector, false, -1));
    SAME(collector->problem,
         "libcupti.so.13 refuses buffers for records (error 1)");
    EQUAL(standin_cupti_kinds(), 0);
    standin_cupti_fail("cuptiActivityRegisterCallbacks", 0);
    standin_cupti_fail("cuptiEnableCallback", 1);
    CHECK(!fd_kernels_start(collector, false, -1));
    SAME(collector->problem,
         "libcupti.so.13 refuses callbacks of launches (error 1)");
}

/* A forked child does not have the reading thread and must not use CUPTI. */
ONCE(a_child_closes_nothing)
{
    COLLECTOR(collector, f);
    CHECK(fd_kernels_start(collector, false, -1));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fd_kernels_close(collector, false);
        fd_kernel_collector *other;
        bool refused = fd_kernels_open(&other, f.recording, running, NULL)
                    == FD_ECONFLICT;
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    EQUAL(waitpid(child, &status, 0), child);
    EQUAL(status, 0);
    standin_cupti_launch("gemm", 30, 0);
    fd_kernels_pause(collector, false);
    CHECK(!fd_kernels_wait(collector, 1000));
    fd_kernels_close(collector, false);
    EQUAL(record(&f, 0)->ns, 30);
}

/* Copies by the driver are launches, unless the runtime makes them. */
ONCE(counts_nested_calls_once)
{
    enum { COPY_BY_RUNTIME = 41, COPY_BY_DRIVER = 277 };
    COLLECTOR(collector, f);
    CHECK(fd_kernels_start(collector, false, -1));
    standin_cupti_nested(COPY_BY_RUNTIME, 5, COPY_BY_DRIVER, 6);
    EQUAL(fd_launches_pending(&collector->launches), 1);
    standin_cupti_call(FD_CUDA_DRIVER, COPY_BY_DRIVER, 7);
    EQUAL(fd_launches_pending(&collector->launches), 2);
    fd_kernels_close(collector, false);
    EQUAL(header_of(&f)->counters[FD_COUNT_GPU_UNFINISHED], 2);
}

/* The probe names the holder, and leaves no subscription. */
ONCE(probes_the_library)
{
    standin_cupti_reset();
    fd_cupti cupti;
    fd_error error = {""};
    OK(fd_kernels_probe(&cupti, &error));
    OK(fd_kernels_probe(&cupti, &error));
    standin_cupti_hold("Proton");
    STATUS(fd_kernels_probe(&cupti, &error), FD_ECONFLICT);
    SAME(error.text, "libcupti.so.13 is in use by Proton");
    standin_cupti_version(9);
    STATUS(fd_kernels_probe(&cupti, &error), FD_EINVAL);
}
