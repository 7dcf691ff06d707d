#include "fixtures.h"

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
static void
adds_up(void)
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
    EQUAL(record(&figures, 0)->context, 100);
    EQUAL(record(&figures, 0)->kind, FD_KERNEL_KERNEL);
    EQUAL(record(&figures, 0)->count, 2);
    EQUAL(record(&figures, 0)->ns, 42);
    SAME(name(&figures, 0), "gemm");
    EQUAL(record(&figures, 1)->stream, 8);
    SAME(name(&figures, 2), "tanh");
    EQUAL(record(&figures, 2)->context, 0);
    EQUAL(figures.count, 4);
    EQUAL(figures.ns, 66);
}

static void
names_copies_and_fills(void)
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
    EQUAL(record(&figures, 0)->bytes, 64);
    EQUAL(record(&figures, 0)->copy, 1);
    SAME(name(&figures, 1), "Memcpy Unknown (Pageable -> Device)");
    SAME(name(&figures, 2), "Memset");
    EQUAL(record(&figures, 2)->kind, FD_KERNEL_FILL);
    SAME(name(&figures, 3), "<unnamed>");
}

/* A kernel without its times is lost and counted, as one without space. */
static void
counts_losses(void)
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
static void
stores_the_call(void)
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
        EQUAL(call->gpu_launch, 6);
        EQUAL(call->gpu_start, figures.anchor.ticks + 1000);
        EQUAL(call->gpu_ticks, 1500);
        EQUAL(call->gpu_device, 1);
        EQUAL(call->gpu_stream, 1);
    }
}

/* A kernel that seems to start before its launch was launched at its start. */
static void
has_events(void)
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
    if (figures.events.chunk == NULL) {
        CHECK(check_refused());
        return;
    }
    const fd_gpu_event *event = fd_chunk_records(figures.events.chunk);
    EQUAL(event->start, figures.anchor.ticks + 1000);
    EQUAL(event->host, event->start);
    EQUAL(event->ticks, 500);
    EQUAL(event->context, 100);
    EQUAL(event->stream, 7);
    EQUAL(event->name, record(&figures, 0)->name);
}

RUN(ABSORBS(stores_the_call), ABSORBS(has_events), ABSORBS(adds_up),
    ABSORBS(names_copies_and_fills), ABSORBS(counts_losses))
