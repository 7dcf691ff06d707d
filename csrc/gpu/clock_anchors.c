#include "gpu/clock_anchors.h"

enum {
    ATTEMPTS = 8,
    OLD_MS = 2000,       /* age after which a new anchor is measured */
    BASELINE_MS = 1000,  /* minimum duration to measure the rate */
    RETRY_MS = 200,      /* delay after failed attempts */
    PATIENCE_NS = 60000, /* maximum duration of an attempt */
    NS_PER_MS = 1000000
};

/* Quartz clocks drift less; a larger drift means that a clock was set. */
static const double LARGEST_DRIFT = 500e-6;

int
fd_gpu_anchors_open(fd_gpu_anchors *anchors, const fd_gpu_runtime *runtime,
                    uint64_t (*now)(void), double ticks_per_ns)
{
    *anchors = (fd_gpu_anchors){.runtime = runtime,
                                .now = now,
                                .nominal = ticks_per_ns,
                                .rate = ticks_per_ns};
    int result =
        runtime->stream_create(&anchors->stream, FD_GPU_STREAM_NON_BLOCKING);
    if (result == FD_GPU_SUCCESS) {
        result = runtime->event_create(&anchors->spare, 0);
    }
    for (int i = 0; i < FD_GPU_ANCHORS && result == FD_GPU_SUCCESS; i++) {
        result = runtime->event_create(&anchors->list[i].event, 0);
    }
    return fd_gpu_result(runtime, result);
}

void
fd_gpu_anchors_clear(fd_gpu_anchors *anchors, bool alive)
{
    const fd_gpu_runtime *runtime = anchors->runtime;
    for (int i = 0; alive && i < FD_GPU_ANCHORS; i++) {
        if (anchors->list[i].event != NULL) {
            fd_gpu_result(runtime,
                          runtime->event_destroy(anchors->list[i].event));
        }
    }
    if (alive && anchors->spare != NULL) {
        fd_gpu_result(runtime, runtime->event_destroy(anchors->spare));
    }
    if (alive && anchors->stream != NULL) {
        fd_gpu_result(runtime, runtime->stream_destroy(anchors->stream));
    }
    *anchors = (fd_gpu_anchors){.runtime = NULL};
}

/* Record the spare event and poll it for at most PATIENCE_NS. `width` stays 0
 * if the GPU has not reached it by then. */
static int
attempt_anchor(fd_gpu_anchors *anchors, fd_gpu_anchor *got)
{
    const fd_gpu_runtime *runtime = anchors->runtime;
    uint64_t patience = (uint64_t)(PATIENCE_NS * anchors->nominal);
    uint64_t before = anchors->now();
    uint64_t after = before;
    int result = runtime->event_record(anchors->spare, anchors->stream);
    while (result == FD_GPU_SUCCESS && after - before < patience) {
        result = fd_gpu_result(runtime, runtime->event_query(anchors->spare));
        after = anchors->now();
        if (result == FD_GPU_SUCCESS) {
            got->host = (int64_t)(before + (after - before) / 2);
            got->width = after - before + 1;
            return result;
        }
        if (result == FD_GPU_NOT_READY) {
            result = FD_GPU_SUCCESS;
        }
    }
    return fd_gpu_result(runtime, result);
}

static void
measure_rate(fd_gpu_anchors *anchors, const fd_gpu_anchor *latest)
{
    uint32_t kept =
        anchors->count < FD_GPU_ANCHORS ? anchors->count : FD_GPU_ANCHORS;
    const fd_gpu_anchor *oldest =
        &anchors->list[(anchors->count - kept) % FD_GPU_ANCHORS];
    double gpu = latest->gpu - oldest->gpu;
    if (gpu < (double)BASELINE_MS * NS_PER_MS) {
        return;
    }
    double rate = (double)(latest->host - oldest->host) / gpu;
    double drift = rate / anchors->nominal - 1;
    anchors->rate = drift > -LARGEST_DRIFT && drift < LARGEST_DRIFT
                      ? rate
                      : anchors->nominal;
}

/* Store the best attempt as the latest anchor. */
static int
keep_anchor(fd_gpu_anchors *anchors, fd_gpu_anchor *best)
{
    float ms = 0;
    if (anchors->count > 0) {
        const fd_gpu_anchor *before = fd_gpu_anchors_latest(anchors);
        int result = fd_gpu_result(
            anchors->runtime,
            anchors->runtime->event_elapsed(&ms, before->event, best->event));
        if (result != FD_GPU_SUCCESS) {
            return result;
        }
        best->gpu = before->gpu + (double)ms * NS_PER_MS;
    }
    anchors->list[anchors->count++ % FD_GPU_ANCHORS] = *best;
    measure_rate(anchors, best);
    return FD_GPU_SUCCESS;
}

int
fd_gpu_anchors_take(fd_gpu_anchors *anchors)
{
    /* Reuse the event of the oldest anchor. */
    fd_gpu_anchor *oldest = &anchors->list[anchors->count % FD_GPU_ANCHORS];
    fd_gpu_anchor best = {.event = oldest->event};
    for (int i = 0; i < ATTEMPTS; i++) {
        fd_gpu_anchor got = {.width = 0};
        int result = attempt_anchor(anchors, &got);
        if (result != FD_GPU_SUCCESS) {
            oldest->event = best.event;
            return result;
        }
        if (got.width != 0 && (best.width == 0 || got.width < best.width)) {
            got.event = anchors->spare;
            anchors->spare = best.event;
            best = got;
        }
    }
    oldest->event = best.event;
    anchors->next = anchors->now()
                  + (uint64_t)((best.width == 0 ? RETRY_MS : OLD_MS)
                               * (double)NS_PER_MS * anchors->nominal);
    return best.width == 0 ? FD_GPU_SUCCESS : keep_anchor(anchors, &best);
}

int
fd_gpu_anchors_map(const fd_gpu_anchors *anchors, void *event, int64_t *host)
{
    uint32_t kept =
        anchors->count < FD_GPU_ANCHORS ? anchors->count : FD_GPU_ANCHORS;
    float nearest = 0;
    for (uint32_t i = 0; i < kept; i++) {
        const fd_gpu_anchor *from =
            &anchors->list[(anchors->count - 1 - i) % FD_GPU_ANCHORS];
        float ms;
        int result = fd_gpu_result(
            anchors->runtime,
            anchors->runtime->event_elapsed(&ms, from->event, event));
        if (result != FD_GPU_SUCCESS) {
            return result;
        }
        float distance = ms < 0 ? -ms : ms;
        if (i > 0 && distance >= nearest) {
            break;
        }
        nearest = distance;
        *host = from->host + (int64_t)((double)ms * NS_PER_MS * anchors->rate);
        if (distance <= (float)OLD_MS) {
            break;
        }
    }
    return FD_GPU_SUCCESS;
}
