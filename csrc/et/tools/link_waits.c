#include "et/tools/et_link.h"

/* A kernel, searched by its end, or by its stream and launch. */
typedef struct ended {
    int64_t end;
    int64_t launched;
    uint64_t correlation;
    int64_t queue;
    uint32_t index;
} ended;

/* A node of a thread. */
typedef struct begun {
    uint64_t thread;
    int64_t start;
    uint32_t index;
} begun;

typedef struct waits {
    fd_et *et;
    const fd_kineto *k;
    fd_arena *scratch;
    FD_VECTOR(ended) by_end;
    FD_VECTOR(ended) by_stream; /* sorted by stream, then by correlation */
    FD_VECTOR(begun) nodes;
    fd_map *syncs; /* correlation -> index of the cuda_sync event + 1 */
    fd_map *calls; /* correlation -> index of the call + 1 */
    fd_map *works; /* correlation -> index of the kernel + 1 */
} waits;

/* Tolerance for differences of the host and GPU clocks. */
enum { SLACK = 2000, LOOK_BACK = 64 };

FD_ORDER_BY(by_end, ended, end)

FD_ORDER_BY(by_stream, ended, queue, correlation)

FD_ORDER_BY(by_thread, begun, thread, start)

static void
list_kernels(waits *w)
{
    for (uint32_t i = 0; i < w->k->kernels.count; i++) {
        const fd_kineto_kernel *kernel = &w->k->kernels.list[i];
        uint32_t call = fd_map_get(w->calls, kernel->correlation);
        ended each = {
            fd_plus(kernel->start, kernel->dur),
            call == 0 ? kernel->start : w->k->calls.list[call - 1].start,
            kernel->correlation, fd_et_queue(kernel->device, kernel->stream),
            kernel->index - 1};
        fd_arena_push(w->scratch, &w->by_end, each);
        fd_arena_push(w->scratch, &w->by_stream, each);
    }
    fd_vector_sort(&w->by_end, by_end);
    fd_vector_sort(&w->by_stream, by_stream);
}

static void
list_nodes(waits *w)
{
    for (uint32_t i = 0; i < w->et->nodes.count; i++) {
        const fd_et_node *node = &w->et->nodes.list[i];
        if (node->thread != 0
            && (node->flags & (FD_ET_GPU | FD_ET_THREAD | FD_ET_GUESSED))
                   == 0) {
            fd_arena_push(w->scratch, &w->nodes,
                          (begun){node->thread, node->start_ns, i});
        }
    }
    fd_vector_sort(&w->nodes, by_thread);
}

/* Return the reference of the first node of a thread from a time on; 0: no
 * such node. */
static uint32_t
next_node(const waits *w, uint64_t thread, int64_t time)
{
    uint32_t low = 0;
    uint32_t high = w->nodes.count;
    begun wanted = {thread, time, 0};
    FD_BISECT(low, high, by_thread(&w->nodes.list[middle], &wanted) < 0);
    return low < w->nodes.count && w->nodes.list[low].thread == thread
             ? w->nodes.list[low].index + 1
             : 0;
}

/* Return the number of kernels that ended by a time. */
static uint32_t
ended_until(const waits *w, int64_t time)
{
    uint32_t low = 0;
    uint32_t high = w->by_end.count;
    FD_BISECT(low, high, w->by_end.list[middle].end <= time);
    return low;
}

/* Add the kernels that a call waited for: the last one of one stream or of
 * each stream. A cuda_sync event names the stream. */
static void
wait_for(waits *w, const fd_kineto_call *call, uint32_t to)
{
    int64_t seen[LOOK_BACK];
    uint32_t count = 0;
    uint32_t row = fd_map_get(w->syncs, call->correlation);
    const fd_kineto_sync *sync = row == 0 ? NULL : &w->k->syncs.list[row - 1];
    int64_t queue = sync == NULL || sync->stream < 0
                      ? -1
                      : fd_et_queue(sync->device, sync->stream);
    bool device = call->wait == FD_KINETO_DEVICE;
    uint32_t at =
        ended_until(w, fd_plus(fd_plus(call->start, call->dur), SLACK));
    for (uint32_t steps = 0; at-- > 0 && steps < LOOK_BACK; steps++) {
        const ended *kernel = &w->by_end.list[at];
        bool known = false;
        for (uint32_t i = 0; i < count; i++) {
            known = known || seen[i] == kernel->queue;
        }
        if (known || kernel->launched > call->start
            || (!device && queue >= 0 && kernel->queue != queue)) {
            continue;
        }
        fd_et_add_edge(w->et, kernel->index, to, FD_ET_SYNC);
        seen[count++] = kernel->queue;
        if (!device) {
            break;
        }
    }
}

static void
wait_for_copy(waits *w, const fd_kineto_call *call, uint32_t to)
{
    uint32_t work = fd_map_get(w->works, call->correlation);
    if (work != 0) {
        fd_et_add_edge(w->et, w->k->kernels.list[work - 1].index - 1, to,
                       FD_ET_SYNC);
    }
}

static void
find_syncs(waits *w)
{
    for (uint32_t i = 0; i < w->k->calls.count; i++) {
        const fd_kineto_call *call = &w->k->calls.list[i];
        if (call->wait == FD_KINETO_NO_WAIT) {
            continue;
        }
        uint32_t to =
            next_node(w, call->thread, fd_plus(call->start, call->dur));
        if (to != 0) {
            (call->wait == FD_KINETO_COPY ? wait_for_copy : wait_for)(w, call,
                                                                      to - 1);
        }
    }
}

/* Return the index in `by_stream` of the first kernel of a stream that was
 * launched from a correlation on. */
static uint32_t
first_of(const waits *w, int64_t queue, uint64_t correlation)
{
    uint32_t low = 0;
    uint32_t high = w->by_stream.count;
    ended wanted = {.queue = queue, .correlation = correlation};
    FD_BISECT(low, high, by_stream(&w->by_stream.list[middle], &wanted) < 0);
    return low;
}

static void
find_events(waits *w)
{
    for (uint32_t i = 0; i < w->k->syncs.count; i++) {
        const fd_kineto_sync *sync = &w->k->syncs.list[i];
        if (sync->record == 0 || sync->source < 0
            || sync->source == sync->stream) {
            continue;
        }
        int64_t source = fd_et_queue(sync->device, sync->source);
        int64_t queue = fd_et_queue(sync->device, sync->stream);
        uint32_t from = first_of(w, source, sync->record);
        uint32_t to = first_of(w, queue, sync->correlation);
        if (from == 0 || to == w->by_stream.count
            || w->by_stream.list[from - 1].queue != source
            || w->by_stream.list[to].queue != queue) {
            continue;
        }
        fd_et_add_edge(w->et, w->by_stream.list[from - 1].index,
                       w->by_stream.list[to].index, FD_ET_EVENT);
    }
}

void
fd_et_find_waits(fd_et *et, const fd_kineto *k)
{
    if (k->kernels.count == 0) {
        return;
    }
    fd_arena *scratch = fd_arena_part(&et->arena);
    waits w = {
        .et = et,
        .k = k,
        .scratch = scratch,
        .syncs = FD_KINETO_MAP(scratch, k->syncs, fd_kineto_sync, correlation),
        .calls = FD_KINETO_MAP(scratch, k->calls, fd_kineto_call, correlation),
        .works =
            FD_KINETO_MAP(scratch, k->kernels, fd_kineto_kernel, correlation)};
    list_kernels(&w);
    list_nodes(&w);
    find_syncs(&w);
    find_events(&w);
    fd_arena_drop(scratch);
}
