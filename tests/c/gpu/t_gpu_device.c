#include "fixtures.h"

#include "gpu/gpu_device.h"
#include "standin/cudart.h"

/* A device of the stand-in, with a clock that only tests and polling advance.
 * A context is a number. */
typedef struct bench {
    fixture f;
    fd_gpu_runtime runtime;
    fd_gpu_figures figures;
    fd_gpu_device device;
} bench;

static fd_status
bench_open(bench *b)
{
    standin_reset();
    standin_clock(1000000000);
    standin_latency(1000);
    *b = (bench){.f = {.recording = NULL}};
    fd_status status = fixture_open(&b->f, NULL, 16);
    if (status != FD_OK) {
        return status;
    }
    status = fd_gpu_runtime_find(&b->runtime, NULL);
    fd_gpu_figures_init(&b->figures, b->f.recording);
    fd_gpu_device_init(&b->device, &b->runtime, &b->figures, 0);
    b->device.now = standin_now;
    b->device.ticks_per_ns = 1;
    return status;
}

static void
bench_clear(bench *b)
{
    if (b->figures.recording != NULL) {
        fd_gpu_device_close(&b->device);
        fd_gpu_device_clear(&b->device, true);
        fd_gpu_figures_clear(&b->figures);
    }
    fixture_clear(&b->f);
}

#define BENCH(b) \
    CLEAN(bench_clear) bench b; \
    OK(bench_open(&b))

static uint64_t
counter(const bench *b, int which)
{
    return fd_file_header(&b->f.recording->file)->counters[which];
}

static fd_gpu_record
figure(const bench *b, uint32_t context)
{
    uint32_t id = fd_map_get(&b->figures.records, context);
    return id == 0
             ? (fd_gpu_record){.context = 0}
             : *(fd_gpu_record *)fd_file_record(&b->f.recording->file, id);
}

static uint32_t
begin(bench *b, void *stream)
{
    fd_gpu_call call = {.stream = stream};
    return fd_gpu_device_begin(&b->device, &call);
}

static uint32_t
begin_inside(bench *b, void *stream, uint32_t outer)
{
    fd_gpu_call call = {.stream = stream, .around = &outer, .depth = 1};
    return fd_gpu_device_begin(&b->device, &call);
}

/* One call with `ns` of GPU time. */
static void
run(bench *b, void *stream, uint32_t context, uint64_t ns)
{
    uint32_t slot = begin(b, stream);
    standin_launch(stream, ns);
    if (slot != 0) {
        fd_gpu_device_end(&b->device, slot, context);
    }
}

static void
settle(bench *b)
{
    standin_pass(1000000000);
    fd_gpu_device_drain(&b->device, true);
}

static bool
never_synchronised(void)
{
    return standin_calls("cudaEventSynchronize") == 0
        && standin_calls("cudaStreamSynchronize") == 0
        && standin_calls("cudaDeviceSynchronize") == 0;
}

/* Totals are GPU time; self excludes inner calls on the same stream. */
ABSORBS(measures)
{
    BENCH(b);
    uint32_t outer = begin(&b, NULL);
    standin_launch(NULL, 10000);
    uint32_t inner = begin_inside(&b, NULL, outer);
    standin_launch(NULL, 70000);
    CHECK(check_refused() || (outer != 0 && inner != 0));
    if (outer == 0 || inner == 0) {
        return;
    }
    fd_gpu_device_end(&b.device, inner, 32);
    standin_launch(NULL, 20000);
    fd_gpu_device_end(&b.device, outer, 16);
    fd_gpu_device_drain(&b.device, false);
    EQUAL(figure(&b, 16).calls, 0); /* not ready, without a wait */
    settle(&b);
    EQUAL(figure(&b, 16).calls, 1);
    EQUAL(figure(&b, 16).total, 100000);
    EQUAL(figure(&b, 16).self, 30000);
    EQUAL(figure(&b, 32).total, 70000);
    EQUAL(figure(&b, 32).self, 70000);
    EQUAL(figure(&b, 16).launch_bound, 0);
    EQUAL(b.device.pool.free.count, b.device.pool.made);
    CHECK(never_synchronised());
}

/* Calls on another stream are not part of it. */
ABSORBS(streams_are_apart)
{
    BENCH(b);
    void *side;
    EQUAL(cudaStreamCreateWithFlags(&side, 1), 0);
    uint32_t outer = begin(&b, NULL);
    uint32_t inner = outer == 0 ? 0 : begin_inside(&b, side, outer);
    if (inner != 0) {
        standin_launch(NULL, 5000);
        standin_launch(side, 50000);
        fd_gpu_device_end(&b.device, inner, 32);
        fd_gpu_device_end(&b.device, outer, 16);
        settle(&b);
    }
    cudaStreamDestroy(side);
    EQUAL(figure(&b, 16).total, 5000);
    EQUAL(figure(&b, 16).self, 5000);
    EQUAL(figure(&b, 32).total, 50000);
    EQUAL(b.device.streams.count, 2);
}

/* A million timestamps: a bounded pool, after warm-up no event created within
 * steps, no call that waits. */
ONCE(a_million_timestamps)
{
    BENCH(b);
    uint64_t made = 0;
    for (int step = 0; step < 500; step++) {
        for (int i = 0; i < 1000; i++) {
            run(&b, NULL, 16, 900);
            standin_pass(500);
        }
        if (step == 2) {
            made = standin_calls("cudaEventCreateWithFlags");
        }
        settle(&b);
    }
    CHECK(b.device.timestamps >= 990000);
    EQUAL(2 * figure(&b, 16).calls, b.device.timestamps);
    EQUAL(figure(&b, 16).calls + counter(&b, FD_COUNT_GPU_LOST), 500000);
    CHECK(b.device.pool.made <= 4 * FD_GPU_POOL_STEP);
    EQUAL(standin_calls("cudaEventCreateWithFlags"), made);
    EQUAL(figure(&b, 16).total, figure(&b, 16).calls * 900);
    CHECK(never_synchronised());
}

/* Within a step a warm pool does not grow: calls are not timed, which is
 * counted, and the pool grows at the end of the step. */
ABSORBS(a_dry_pool_loses)
{
    BENCH(b);
    run(&b, NULL, 16, 100);
    settle(&b);
    uint64_t made = standin_calls("cudaEventCreateWithFlags");
    standin_launch(NULL, UINT64_C(3600000000000)); /* an hour: not passed */
    for (int i = 0; i < 1000; i++) {
        run(&b, NULL, 16, 100);
    }
    EQUAL(standin_calls("cudaEventCreateWithFlags"), made);
    uint64_t lost = counter(&b, FD_COUNT_GPU_LOST);
    CHECK(check_refused() || (lost > 400 && lost < 600));
    fd_gpu_device_drain(&b.device, true);
    CHECK(check_refused() || b.device.pool.made == 2 * FD_GPU_POOL_STEP);
}

ABSORBS(captured_streams_are_left_alone)
{
    BENCH(b);
    run(&b, NULL, 16, 100);
    uint64_t recorded = standin_calls("cudaEventRecord");
    void *side;
    EQUAL(cudaStreamCreateWithFlags(&side, 1), 0);
    standin_capture(side, 1);
    EQUAL(begin(&b, side), 0);
    EQUAL(begin(&b, NULL), 0); /* the capture forbids the legacy stream */
    EQUAL(standin_calls("cudaEventRecord"), recorded);
    EQUAL(cudaPeekAtLastError(), 0);
    settle(&b); /* queries must not end the capture */
    int capture = standin_capture_of(side);
    standin_capture(side, 0);
    cudaStreamDestroy(side);
    EQUAL(capture, 1);
    EQUAL(counter(&b, FD_COUNT_GPU_CAPTURED), 2);
    EQUAL(figure(&b, 16).calls, 1);
}

/* Capture that begins inside a call loses that call only. */
ABSORBS(capture_in_between)
{
    BENCH(b);
    uint32_t slot = begin(&b, NULL);
    ALLOCATED(slot != 0);
    standin_capture(NULL, 1);
    fd_gpu_device_end(&b.device, slot, 16);
    standin_capture(NULL, 0);
    EQUAL(counter(&b, FD_COUNT_GPU_DROPPED), 1);
    run(&b, NULL, 16, 100);
    settle(&b);
    EQUAL(figure(&b, 16).calls, 1);
    EQUAL(b.device.pool.free.count, b.device.pool.made);
}

/* A pending error of the program is kept; the timestamp is lost. */
ABSORBS(user_errors_stay)
{
    BENCH(b);
    run(&b, NULL, 16, 100);
    standin_leave_error(9);
    EQUAL(begin(&b, NULL), 0);
    settle(&b);
    EQUAL(figure(&b, 16).calls, 0); /* not queried */
    EQUAL(cudaGetLastError(), 9);
    CHECK(!b.device.failed);
    settle(&b);
    EQUAL(figure(&b, 16).calls, 1);
}

/* A lost context: timing ends once, and the program still sees the error. */
ABSORBS(sticky_errors_end_it)
{
    BENCH(b);
    run(&b, NULL, 16, 100);
    standin_fail("cudaEventRecord", 1, 700, 1);
    EQUAL(begin(&b, NULL), 0);
    CHECK(b.device.failed || check_refused());
    uint64_t recorded = standin_calls("cudaEventRecord");
    EQUAL(begin(&b, NULL), 0);
    settle(&b);
    EQUAL(standin_calls("cudaEventRecord"), recorded);
    CHECK(b.device.error == 700 || check_refused());
    CHECK(cudaGetLastError() == 700 || check_refused());
}

/* CUDA fails with queued timestamps and an open call: collected intervals
 * stay, the others are counted, and CUDA is not called again. */
ABSORBS(lost_gpu)
{
    BENCH(b);
    run(&b, NULL, 16, 100);
    settle(&b);
    run(&b, NULL, 16, 100);
    run(&b, NULL, 16, 100);
    uint32_t open = begin(&b, NULL);
    standin_fail("cudaEventQuery", 1, 719, 1);
    settle(&b);
    CHECK((b.device.failed && b.device.error == 719) || check_refused());
    if (open != 0) {
        fd_gpu_device_end(&b.device, open, 16);
    }
    EQUAL(begin(&b, NULL), 0);
    CHECK(!fd_gpu_device_is_busy(&b.device) || check_refused());
    uint64_t asked = standin_calls("cudaEventQuery");
    settle(&b);
    fd_gpu_device_close(&b.device);
    CHECK(!b.device.stuck);
    EQUAL(standin_calls("cudaEventQuery"), asked);
    EQUAL(figure(&b, 16).calls, 1);
    EQUAL(counter(&b, FD_COUNT_GPU_UNFINISHED), 2);
    EQUAL(counter(&b, FD_COUNT_GPU_DROPPED), 1);
    EQUAL(counter(&b, FD_COUNT_GPU_LOST), 1);
    CHECK(never_synchronised());
}

enum { THREADS = 4, EACH = 2000 };

typedef struct worker {
    bench *b;
    uint32_t context;
    cuda_stream stream;
    pthread_t thread;
    bool started;
} worker;

static void *
work(void *argument)
{
    const worker *self = argument;
    for (int i = 0; i < EACH; i++) {
        run(self->b, self->stream, self->context, 10);
        if (i % 100 == 0) {
            fd_gpu_device_drain(&self->b->device, true);
        }
    }
    return NULL;
}

/* Calls that do not get the lock of the device are not timed: all calls are
 * timed or counted, and all events are returned. */
ONCE(several_threads_at_once)
{
    BENCH(b);
    worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.b = &b, .context = i + 1};
        cudaStreamCreateWithFlags(&workers[i].stream,
                                  FD_GPU_STREAM_NON_BLOCKING);
        workers[i].started =
            pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    uint64_t calls = 0;
    uint64_t wanted = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        if (workers[i].started) {
            pthread_join(workers[i].thread, NULL);
            wanted += EACH;
        }
    }
    settle(&b);
    settle(&b);
    fd_gpu_device_close(&b.device);
    CHECK(!b.device.stuck);
    for (uint32_t i = 0; i < THREADS; i++) {
        calls += figure(&b, i + 1).calls;
        cudaStreamDestroy(workers[i].stream);
    }
    EQUAL(b.device.error, 0);
    CHECK(calls > 0);
    EQUAL(calls + counter(&b, FD_COUNT_GPU_LOST)
              + counter(&b, FD_COUNT_GPU_DROPPED)
              + counter(&b, FD_COUNT_GPU_UNFINISHED),
          wanted);
    EQUAL(b.device.pool.free.count, b.device.pool.made);
    CHECK(never_synchronised());
}

ABSORBS(drops_unfinished_anchors)
{
    BENCH(b);
    uint32_t outer = begin(&b, NULL);
    uint32_t inner = outer == 0 ? 0 : begin_inside(&b, NULL, outer);
    ALLOCATED(inner != 0);
    fd_gpu_device_drop(&b.device, outer);
    standin_launch(NULL, 100);
    fd_gpu_device_end(&b.device, inner, 32);
    pthread_mutex_lock(&b.device.lock); /* as another thread would */
    EQUAL(begin(&b, NULL), 0);
    pthread_mutex_unlock(&b.device.lock);
    uint32_t third = begin(&b, NULL);
    pthread_mutex_lock(&b.device.lock);
    fd_gpu_device_end(&b.device, third, 16);
    pthread_mutex_unlock(&b.device.lock);
    settle(&b);
    EQUAL(counter(&b, FD_COUNT_GPU_DROPPED), 2);
    EQUAL(counter(&b, FD_COUNT_GPU_LOST), 1);
    EQUAL(figure(&b, 32).calls, 1);
    EQUAL(b.device.pool.free.count, b.device.pool.made);
}

/* If the GPU's clock seems ahead of the host's, the start is moved to the
 * launch. */
ABSORBS(no_start_before_its_launch)
{
    BENCH(b);
    run(&b, NULL, 16, 100); /* measures the anchor */
    settle(&b);
    ALLOCATED(b.device.anchors.count != 0);
    b.device.anchors.list[0].host -= 50000;
    standin_latency(0);
    run(&b, NULL, 16, 100);
    settle(&b);
    EQUAL(counter(&b, FD_COUNT_GPU_SHIFTED), 1);
    EQUAL(figure(&b, 16).total, 200);
}
