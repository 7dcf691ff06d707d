#include "fixtures.h"

#include "base/alloc.h"
#include "gpu/kernel_figures.h"
#include "recording/operator_log.h"

#include <string.h>

static const fd_kernel_record *
record(const fd_kernel_figures *figures, uint32_t at)
{
    const fd_kernel_record *records = fd_chunk_records(figures->pool.chunk);
    return &records[at];
}

static const char *
name(const fd_kernel_figures *figures, uint32_t at)
{
    return fd_strings_text(&figures->recording->file,
                           record(figures, at)->name);
}

static void
add(fd_kernel_figures *figures, const fd_cupti_record *kernel,
    uint32_t context)
{
    fd_kernel_sample sample = {.record = *kernel,
                               .launcher = {.context = context}};
    fd_kernel_figures_add(figures, &sample);
}

#define FIGURES(figures, f) \
    CLEAN(fd_kernel_figures_clear) fd_kernel_figures figures; \
    fd_kernel_figures_init(&figures, f.recording)

/* One record per context, name, device and stream. */
ABSORBS(adds_up)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    char text[] = "gemm";
    fd_cupti_record kernel = {.kind = FD_CUPTI_KERNEL,
                              .name = text,
                              .stream = 7,
                              .start = 1000,
                              .end = 1030};
    add(&figures, &kernel, 100);
    kernel.end = 1012;
    add(&figures, &kernel, 100);
    kernel.stream = 8;
    add(&figures, &kernel, 100);
    memcpy(text, "tanh", 4); /* the memory is used again */
    add(&figures, &kernel, 0);
    EQUAL(figures.pool.count, 3);
    FIELDS(record(&figures, 0), (context, 100), (kind, FD_KERNEL_KERNEL),
           (count, 2), (ns, 42));
    SAME(name(&figures, 0), "gemm");
    EQUAL(record(&figures, 1)->stream, 8);
    SAME(name(&figures, 2), "tanh");
    EQUAL(record(&figures, 2)->context, 0);
    FIELDS(&figures, (count, 4), (ns, 66));
}

ABSORBS(names_copies_and_fills)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    fd_cupti_record copy = {.kind = FD_CUPTI_COPY,
                            .start = 1,
                            .end = 1,
                            .bytes = 64,
                            .copy = 1,
                            .from = 1,
                            .to = 3};
    add(&figures, &copy, 100);
    copy.copy = 200;
    add(&figures, &copy, 100);
    copy.kind = FD_CUPTI_FILL;
    add(&figures, &copy, 100);
    copy.kind = FD_CUPTI_KERNEL;
    copy.bytes = 0;
    add(&figures, &copy, 100);
    SAME(name(&figures, 0), "Memcpy HtoD (Pageable -> Device)");
    FIELDS(record(&figures, 0), (bytes, 64), (copy, 1));
    SAME(name(&figures, 1), "Memcpy Unknown (Pageable -> Device)");
    SAME(name(&figures, 2), "Memset (Device)");
    EQUAL(record(&figures, 2)->kind, FD_KERNEL_FILL);
    SAME(name(&figures, 3), "<unnamed>");
}

/* A kernel without its times is lost and counted, as one without space. */
ABSORBS(counts_losses)
{
    FIXTURE(f, NULL, 1);
    FIGURES(figures, f);
    const fd_header *header = fd_file_header(&f.recording->file);
    fd_cupti_record kernel = {.kind = FD_CUPTI_KERNEL, .name = "k"};
    add(&figures, &kernel, 100);
    kernel.start = 2;
    kernel.end = 1;
    add(&figures, &kernel, 100);
    EQUAL(header->counters[FD_COUNT_GPU_LOST], 2);
    EQUAL(figures.count, 0);
    kernel.end = 3;
    uint64_t added = 0;
    for (uint32_t i = 1; i < 40000; i++) {
        add(&figures, &kernel, i);
        added++;
    }
    EQUAL(figures.count + header->counters[FD_COUNT_GPU_LOST], added + 2);
    CHECK(header->counters[FD_COUNT_GPU_LOST] > 2);
}

/* The kernels of a call of an execution trace: from the first to the last. */
ABSORBS(stores_the_call)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    const fd_op_call what = {.start = 5};
    const fd_op_call *call = fd_op_calls_begin(f.main, &what, &f, 1);
    CHECK(call != NULL || check_refused());
    fd_kernel_sample sample = {
        .record = {.kind = FD_CUPTI_KERNEL,
                   .name = "k",
                   .device = 1,
                   .start = figures.anchor.realtime_ns + 1000,
                   .end = figures.anchor.realtime_ns + 1500},
        .launcher = {.context = 100,
                     .call = call == NULL
                               ? 0
                               : fd_file_id(&f.recording->file, call)},
        .launched = 6,
    };
    figures.ticks_per_ns = 1;
    fd_kernel_figures_add(&figures, &sample);
    sample.record.start += 1000;
    sample.record.end += 1000;
    fd_kernel_figures_add(&figures, &sample);
    if (call != NULL && figures.count == 2) {
        FIELDS(call, (gpu_launch, 6), (gpu_start, figures.anchor.ticks + 1000),
               (gpu_ticks, 1500), (gpu_device, 1), (gpu_stream, 1));
    }
}

/* A kernel that seems to start before its launch was launched at its start. */
ABSORBS(has_events)
{
    FIXTURE_TIMELINE(f, .on = true);
    FIGURES(figures, f);
    fd_cupti_record kernel = {.kind = FD_CUPTI_KERNEL,
                              .name = "k",
                              .stream = 7,
                              .start = figures.anchor.realtime_ns + 1000,
                              .end = figures.anchor.realtime_ns + 1500};
    figures.ticks_per_ns = 1;
    add(&figures, &kernel, 100);
    ALLOCATED(figures.events.chunk != NULL);
    const fd_kernel_event *event = fd_chunk_records(figures.events.chunk);
    FIELDS(event, (start, figures.anchor.ticks + 1000), (host, event->start),
           (ticks, 500), (context, 100), (stream, 7), (launcher, 100),
           (name, record(&figures, 0)->name));
}

static uint64_t
idle_of(const fd_kernel_figures *figures, uint32_t context)
{
    for (uint32_t i = 0; i < figures->pool.count; i++) {
        const fd_kernel_record *at = record(figures, i);
        if (at->kind == FD_KERNEL_IDLE
            && (at->context == context || context == 0)) {
            return at->ns;
        }
    }
    return 0;
}

static uint64_t
drained_of(const fd_kernel_figures *figures, uint32_t context)
{
    for (uint32_t i = 0; i < figures->pool.count; i++) {
        const fd_kernel_record *at = record(figures, i);
        if (at->kind == FD_KERNEL_IDLE && at->context == context) {
            return at->bytes;
        }
    }
    return 0;
}

static void
launch(fd_kernel_figures *figures, uint32_t log, uint64_t launched,
       uint64_t start)
{
    fd_kernel_sample sample = {
        .record = {.kind = FD_CUPTI_KERNEL,
                   .name = "k",
                   .start = start,
                   .end = start + 320},
        .launcher = {.context = 100, .log = log},
        .launched = launched,
    };
    fd_kernel_figures_add(figures, &sample);
}

typedef struct host {
    fd_running_log *steps;    /* of the thread that runs the steps */
    fd_running_log *backward; /* of a thread of autograd */
} host;

static void
clear_host(host *at)
{
    fd_free(at->steps);
    fd_free(at->backward);
}

/* A window from tick 3200 on; a tick is a nanosecond. */
#define HOST(at, figures) \
    CLEAN(clear_host) \
    host at = {fd_running_log_new(1, 3200), fd_running_log_new(2, 3200)}; \
    if (at.steps == NULL || at.backward == NULL) { \
        CHECK(check_refused()); \
        return; \
    } \
    fd_kernel_figures_watch(&figures, at.steps); \
    fd_kernel_figures_watch(&figures, at.backward); \
    figures.main = at.steps; \
    fd_kernel_figures_begin(&figures, 0, true); \
    figures.busy.counted = 0; \
    figures.busy.begin = 3200; \
    figures.ticks_per_ns = 1; \
    figures.anchor = (fd_anchor) \
    { \
        .ticks = 0 \
    }

static void
check_sums(const fd_kernel_figures *figures, uint64_t window)
{
    ALLOCATED(figures->busy.devices.count != 0);
    const fd_busy_device *device = &figures->busy.devices.list[0];
    uint64_t idle = 0;
    for (uint32_t i = 0; i < figures->pool.count; i++) {
        const fd_kernel_record *at = record(figures, i);
        idle += at->kind == FD_KERNEL_IDLE ? at->ns : 0;
    }
    EQUAL(idle, device->idle[FD_IDLE_HOST] + device->idle[FD_IDLE_END]);
    EQUAL(device->window, window);
    EQUAL(device->busy[FD_USE_COMPUTE] + idle + device->idle[FD_IDLE_LAUNCH]
              + device->idle[FD_IDLE_UNDECIDED],
          window);
}

/* Idle time is that of the functions that ran in it, not of the one that
 * launches at its end. */
ABSORBS(divides_idle_time)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    HOST(at, figures);
    fd_running_log_put(at.steps, 4800, 40); /* reads input */
    fd_running_log_put(at.steps, 6400, 50);
    fd_running_log_put(at.steps, 8000, 60);
    fd_running_log_put(at.steps, 9600, 40);
    fd_running_log_put(at.steps, 11200, 70);
    launch(&figures, 1, 6400, 6410);
    launch(&figures, 1, 8800, 8806);
    figures.ended = 11200;
    fd_kernel_figures_finish(&figures, true);
    check_sums(&figures, 8000);
    if (figures.pool.count == 5) { /* that of the kernels, and idle ones */
        EQUAL(idle_of(&figures, 40), 1600 + 800 + (9600 - 9126));
        EQUAL(idle_of(&figures, 50), 1600);
        EQUAL(idle_of(&figures, 60), 8000 - 6730);
        EQUAL(idle_of(&figures, 70), 1600);
        EQUAL(drained_of(&figures, 40), 3200 + 11200 - 9126);
        EQUAL(drained_of(&figures, 60), 8800 - 6730);
        EQUAL(drained_of(&figures, 50), 0);
        EQUAL(figures.busy.devices.list[0].idle[FD_IDLE_LAUNCH], 16);
        EQUAL(figures.busy.devices.list[0].idle[FD_IDLE_END], 11200 - 9126);
    }
}

/* While the launching thread runs nothing, the other one is late. */
ABSORBS(waits_for_the_other_thread)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    HOST(at, figures);
    fd_running_log_put(at.steps, 4800, 40);
    fd_running_log_put(at.steps, 6400, 50); /* then it waits in 60 */
    fd_running_log_put(at.backward, 5600, 2);
    fd_running_log_put(at.backward, 8000, 80);
    fd_running_log_put(at.steps, 9600, 60);
    launch(&figures, 2, 7200, 7200);
    figures.ended = 7520;
    fd_kernel_figures_finish(&figures, true);
    check_sums(&figures, 4320);
    if (figures.pool.count == 4) {
        EQUAL(idle_of(&figures, 40), 1600);
        EQUAL(idle_of(&figures, 50), 800);
        EQUAL(idle_of(&figures, 80), 1600);
    }
}

/* Without a log, or after it was overwritten, no path is named. */
ABSORBS(unknown_paths_are_not_decided)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    HOST(at, figures);
    for (uint32_t i = 1; i <= FD_RUNNING_LOG; i++) {
        fd_running_log_put(at.steps, 3200 + 32 * i, 40);
    }
    launch(&figures, 1, 6400, 6400);
    launch(&figures, 0, 9600, 9600);
    figures.ended = 9920;
    fd_kernel_figures_finish(&figures, true);
    check_sums(&figures, 6720);
    EQUAL(idle_of(&figures, 0), 0);
}

ABSORBS(knows_communication)
{
    FIXTURE(f, NULL, 4);
    FIGURES(figures, f);
    static const char *const names[] = {
        "_Z41ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgs",
        "_Z4gemmPf", "triton_poi_fused_nccl_all_reduce_add_3", NULL};
    for (uint64_t i = 0; i < 4; i++) {
        fd_kernel_sample sample = {.record = {.kind = FD_CUPTI_KERNEL,
                                              .name = names[i],
                                              .start = 100 * i + 100,
                                              .end = 100 * i + 110}};
        fd_kernel_figures_add(&figures, &sample);
    }
    for (uint32_t i = 0; i < figures.busy.waiting.count; i++) {
        const fd_busy_kernel *kernel = &figures.busy.waiting.list[i];
        EQUAL(kernel->use,
              kernel->start == 100 ? FD_USE_COMMUNICATION : FD_USE_COMPUTE);
    }
}
