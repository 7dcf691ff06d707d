#include "et/readers/gpu_kernels.h"

#include "et/readers/chakra_fields.h"

#include <stdio.h>
#include <string.h>

/* The begin or end of an interval. */
typedef struct edge {
    uint64_t host;  /* ticks when it was enqueued ... */
    uint64_t gpu;   /* ... and when the stream reached it */
    uint32_t queue; /* device and stream */
    uint32_t call;
    bool ends;
} edge;

/* An open interval; the last one is on top. */
typedef struct opened {
    uint64_t start;
    uint64_t launch; /* tick at which its next own work starts */
    uint32_t call;
    uint32_t works; /* index of the call to which this work belongs */
    bool any;       /* it has a kernel already */
} opened;

typedef struct sweep {
    fd_arena *arena;
    const fd_et_calls *calls;
    fd_et_kernels *kernels;
    FD_VECTOR(edge) edges;
    FD_VECTOR(opened) open;
    uint64_t since; /* tick at which the stream reached the call on top */
} sweep;

/* Order by the time of enqueueing, in which a stream reaches its events. Their
 * GPU times do not give the order: the resolution is half a microsecond. */
FD_ORDER_BY(by_host, edge, queue, host, ends, call)

/* Return the end of a call; UINT64_MAX: unknown. */
static uint64_t
end_of(const sweep *s, uint32_t call)
{
    const fd_op_call *raw = s->calls->list[call].raw;
    return (raw->flags & FD_OP_CALL_OPEN) != 0 ? UINT64_MAX
                                               : raw->start + raw->ticks;
}

/* Return when the interval of a call ends: for an autograd node, when the
 * engine has finished the node. */
static uint64_t
interval_end_of(const sweep *s, uint32_t call)
{
    enum { BACKWARD = 1 };
    const fd_tensor_call *at = &s->calls->list[call];
    bool engine = at->raw->flags >> FD_OP_CALL_SCOPE_SHIFT == BACKWARD
               && at->parent != 0;
    return end_of(s, engine ? at->parent - 1 : call);
}

static void
list_edges(sweep *s)
{
    for (uint32_t i = 0; i < s->calls->count; i++) {
        const fd_op_call *raw = s->calls->list[i].raw;
        uint16_t stream =
            atomic_load_explicit(&raw->gpu_stream, memory_order_acquire);
        if (stream == 0) {
            continue;
        }
        uint64_t end = interval_end_of(s, i);
        edge at = {.host = raw->gpu_launch,
                   .gpu = raw->gpu_start,
                   .queue = (uint32_t)raw->gpu_device << 16 | stream,
                   .call = i};
        fd_arena_push(s->arena, &s->edges, at);
        at.host = end > at.host ? end : at.host;
        at.gpu += raw->gpu_ticks <= UINT64_MAX - at.gpu ? raw->gpu_ticks : 0;
        at.ends = true;
        fd_arena_push(s->arena, &s->edges, at);
    }
    fd_vector_sort(&s->edges, by_host);
}

/* Raise GPU times that contradict the order by their measurement error. */
static void
straighten_times(sweep *s)
{
    for (uint32_t i = 1; i < s->edges.count; i++) {
        const edge *before = &s->edges.list[i - 1];
        edge *at = &s->edges.list[i];
        if (at->queue == before->queue && at->gpu < before->gpu) {
            at->gpu = before->gpu;
        }
    }
}

static void
kernel_add(sweep *s, opened *top, uint64_t start, uint64_t end)
{
    const fd_op_call *timed = s->calls->list[top->call].raw;
    fd_et_kernel kernel = {.launch = top->launch,
                           .start = start,
                           .end = end,
                           .call = top->works,
                           .device = (uint8_t)timed->gpu_device,
                           .stream = (uint16_t)(timed->gpu_stream - 1)};
    top->any = top->any || top->works == top->call;
    fd_arena_push(s->arena, s->kernels, kernel);
}

static bool
is_on_top(const sweep *s, uint32_t call)
{
    return s->open.count > 0 && s->open.list[s->open.count - 1].call == call;
}

/* Add the work of the call on top up to time `gpu`. */
static void
settle_work(sweep *s, uint64_t gpu)
{
    opened *top = s->open.count > 0 ? &s->open.list[s->open.count - 1] : NULL;
    if (top != NULL && gpu > s->since) {
        kernel_add(s, top, s->since, gpu);
    }
    s->since = gpu;
}

/* Continue below with work that the call launched after `inner`; if that call
 * had ended before, the work belongs to the call around it. */
static void
resume_below(const sweep *s, opened *below, uint32_t inner)
{
    uint32_t around = s->calls->list[below->call].parent;
    below->launch = end_of(s, inner);
    if (around != 0 && end_of(s, below->call) < below->launch) {
        below->works = around - 1;
    }
}

static void
leave_call(sweep *s, uint32_t call)
{
    uint32_t index = s->open.count - 1;
    while (s->open.list[index].call != call) {
        index--;
    }
    opened gone = s->open.list[index];
    s->open.count--;
    for (uint32_t i = index; i < s->open.count; i++) {
        s->open.list[i] = s->open.list[i + 1];
    }
    if (index > 0 && index == s->open.count) {
        resume_below(s, &s->open.list[index - 1], call);
    }
    if (!gone.any) {
        gone.launch = s->calls->list[call].raw->gpu_launch;
        gone.works = call;
        kernel_add(s, &gone, gone.start, gone.start);
    }
}

static void
cut_edges(sweep *s)
{
    for (uint32_t i = 0; i < s->edges.count; i++) {
        const edge *at = &s->edges.list[i];
        if (!at->ends || is_on_top(s, at->call)) {
            settle_work(s, at->gpu);
        }
        if (at->ends) {
            leave_call(s, at->call);
        }
        else {
            fd_arena_push(
                s->arena, &s->open,
                (opened){at->gpu, at->host, at->call, at->call, false});
        }
    }
}

void
fd_et_find_kernels(fd_arena *arena, const fd_et_calls *calls,
                   fd_et_kernels *kernels)
{
    sweep s = {.arena = arena, .calls = calls, .kernels = kernels};
    list_edges(&s);
    straighten_times(&s);
    cut_edges(&s);
    fd_arena_drop(s.edges.list);
    fd_arena_drop(s.open.list);
}

/* Set the name of a kernel. It must differ from the name of the call, which et
 * diff compares, and must not look like communication to other programs. */
static void
put_name(fd_et *et, fd_et_node *node, uint32_t call)
{
    char name[512];
    int size = snprintf(name, sizeof name, "fastdispatch interval: %s",
                        fd_et_text(et, call));
    size_t capacity = sizeof name - 1;
    node->name = fd_et_add_text(
        et,
        (fd_span){name,
                  name + ((size_t)size < capacity ? (size_t)size : capacity)});
}

static void
put_facts(fd_et *et, fd_et_node *node, uint64_t launch_ns)
{
    node->category = fd_et_add_word(et, "kernel");
    fd_et_add_attr(et, node,
                   (fd_et_attr){.name = fd_et_add_word(et, "fd_launch_ns"),
                                .field = FD_CHAKRA_INT64,
                                .number = launch_ns});
    fd_et_add_attr(et, node,
                   (fd_et_attr){.name = fd_et_add_word(et, "fd_timing"),
                                .field = FD_CHAKRA_STRING,
                                .text = fd_et_add_word(et, "cuda_event")});
}

void
fd_et_put_kernel(fd_et *et, const fd_et_kernel *kernel, uint32_t index)
{
    fd_et_node *node = fd_et_add_kernel(et, kernel->id, index + 1);
    node->start_ns = (int64_t)kernel->start;
    node->dur_ns = (int64_t)(kernel->end - kernel->start);
    node->device = kernel->device;
    node->stream = kernel->stream;
    put_name(et, node, node->name);
    put_facts(et, node, kernel->launch);
}
