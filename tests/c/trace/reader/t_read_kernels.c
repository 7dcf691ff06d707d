#include "fixtures.h"

#include "gpu/kernel_figures.h"

/* Add a kernel of `ns` that `context` launched. */
static void
add_kernel(fd_kernel_figures *figures, const char *name, uint32_t stream,
           uint64_t ns, uint32_t context)
{
    fd_kernel_sample sample = {
        .record = {.kind = FD_CUPTI_KERNEL,
                   .name = name,
                   .stream = stream,
                   .start = figures->anchor.realtime_ns + 1000,
                   .end = figures->anchor.realtime_ns + 1000 + ns},
        .launcher = {.context = context}};
    fd_kernel_figures_add(figures, &sample);
}

static const fd_gpu_figure *
figure_of(const fd_trace *trace, const char *name)
{
    const fd_trace_rank *rank = &trace->ranks.list[0];
    uint32_t context = fixture_find(trace, name);
    for (uint32_t i = 0; i < rank->gpu.count; i++) {
        if (rank->gpu.list[i].context == context) {
            return &rank->gpu.list[i];
        }
    }
    return NULL;
}

/* Kernels are nodes below the contexts that launched them. */
ABSORBS(kernels_are_nodes)
{
    FIXTURE_AND_TRACE(f, trace);
    uint32_t train = fixture_function(&f, "train", 0);
    uint32_t mm = fixture_node(&f, FD_NODE_OP, "aten::mm");
    fixture_enter_node(f.main, train);
    const fd_context *launching = fixture_call(f.main, mm, 10);
    CLEAN(fd_kernel_figures_clear) fd_kernel_figures figures;
    fd_kernel_figures_init(&figures, f.recording);
    uint32_t id = fd_tree_id(f.main, launching);
    add_kernel(&figures, "gemm", 7, 30, id);
    add_kernel(&figures, "gemm", 7, 12, id);
    add_kernel(&figures, "tanh", 7, 5, id);
    add_kernel(&figures, "tanh", 8, 6, id);
    add_kernel(&figures, "nccl", 20, 100, 0);
    OK(fixture_reload(&f, &trace));
    CHECK(fixture_sound(trace));
    const fd_gpu_figure *gemm = figure_of(trace, "gemm");
    CHECK(gemm != NULL);
    FIELDS(gemm, (calls, 2), (total, 42), (self, 42), (device, 1),
           (stream, 8));
    const fd_trace_context *context = &trace->contexts.list[gemm->context];
    EQUAL(trace->nodes.list[context->node].kind, FD_NODE_KERNEL);
    EQUAL(context->parent, fixture_find(trace, "aten::mm"));
    const fd_gpu_figure *tanh = figure_of(trace, "tanh");
    CHECK(tanh != NULL);
    FIELDS(tanh, (calls, 2), (total, 11));
    EQUAL(tanh->stream, 0); /* several */
    const fd_gpu_figure *nccl = figure_of(trace, "nccl");
    CHECK(nccl != NULL);
    EQUAL(trace->contexts.list[nccl->context].parent,
          fixture_find(trace, "<no call path>"));
}

/* With a timeline, each kernel is an event. */
ABSORBS(kernels_are_events)
{
    FIXTURE_TIMELINE(f, .on = true);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    uint32_t mm = fixture_node(&f, FD_NODE_OP, "aten::mm");
    const fd_context *launching = fixture_call(f.main, mm, 10);
    CLEAN(fd_kernel_figures_clear) fd_kernel_figures figures;
    fd_kernel_figures_init(&figures, f.recording);
    figures.ticks_per_ns = 1;
    add_kernel(&figures, "gemm", 7, 30, fd_tree_id(f.main, launching));
    OK(fixture_reload_timeline(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->gpu_events.count, 1);
    const fd_trace_gpu_event *event = &rank->gpu_events.list[0];
    FIELDS(event, (duration, 30), (context, fixture_find(trace, "gemm")),
           (launcher, fixture_find(trace, "aten::mm")), (stream, 7));
}
