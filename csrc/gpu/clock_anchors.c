#include "gpu/clock_anchors.h"

enum {
    ATTEMPTS = 8,
    OLD_MS = 2000,       /* an anchor older than this is not the nearest */
    BASELINE_MS = 1000,  /* a shorter one tells nothing of the rate */
    RETRY_MS = 200,      /* after attempts in vain */
    PATIENCE_NS = 60000, /* for one attempt */
    NS_PER_MS = 1000000
};

/* Quartz is better than this; more is a clock that was set. */
static const double LARGEST_DRIFT = 500e-6;

int
fd_gpu_anchors_open(fd_gpu_anchors *anchors, const fd_cudart *cuda,
                    uint64_t (*now)(void), double ticks_per_ns)
{
    *anchors = (fd_gpu_anchors){.cuda = cuda,
                                .now = now,
                                .nominal = ticks_per_ns,
                                .rate = ticks_per_ns};
    int answer =
        cuda->stream_create(&anchors->stream, FD_CUDA_STREAM_NON_BLOCKING);
    if (answer == FD_CUDA_SUCCESS) {
        answer = cuda->event_create(&anchors->trial, 0);
    }
    for (int i = 0; i < FD_GPU_ANCHORS && answer == FD_CUDA_SUCCESS; i++) {
        answer = cuda->event_create(&anchors->list[i].event, 0);
    }
    return fd_cuda_answer(cuda, answer);
}

void
fd_gpu_anchors_clear(fd_gpu_anchors *anchors, bool alive)
{
    const fd_cudart *cuda = anchors->cuda;
    for (int i = 0; alive && i < FD_GPU_ANCHORS; i++) {
        if (anchors->list[i].event != NULL) {
            fd_cuda_answer(cuda, cuda->event_destroy(anchors->list[i].event));
        }
    }
    if (alive && anchors->trial != NULL) {
        fd_cuda_answer(cuda, cuda->event_destroy(anchors->trial));
    }
    if (alive && anchors->stream != NULL) {
        fd_cuda_answer(cuda, cuda->stream_destroy(anchors->stream));
    }
    *anchors = (fd_gpu_anchors){.cuda = NULL};
}

/* Record the trial event and wait for it, not for long. `width` stays 0 when
 * that was in vain. */
static int
attempt(fd_gpu_anchors *anchors, fd_gpu_anchor *got)
{
    const fd_cudart *cuda = anchors->cuda;
    uint64_t patience = (uint64_t)(PATIENCE_NS * anchors->nominal);
    uint64_t before = anchors->now();
    uint64_t after = before;
    int answer = cuda->event_record(anchors->trial, anchors->stream);
    while (answer == FD_CUDA_SUCCESS && after - before < patience) {
        answer = fd_cuda_answer(cuda, cuda->event_query(anchors->trial));
        after = anchors->now();
        if (answer == FD_CUDA_SUCCESS) {
            got->host = (int64_t)(before + (after - before) / 2);
            got->width = after - before + 1;
            return answer;
        }
        if (answer == FD_CUDA_NOT_READY) {
            answer = FD_CUDA_SUCCESS;
        }
    }
    return fd_cuda_answer(cuda, answer);
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

/* The best attempt becomes the latest anchor. */
static int
keep(fd_gpu_anchors *anchors, fd_gpu_anchor *best)
{
    float ms = 0;
    if (anchors->count > 0) {
        const fd_gpu_anchor *before = fd_gpu_anchors_latest(anchors);
        int answer = fd_cuda_answer(
            anchors->cuda,
            anchors->cuda->event_elapsed(&ms, before->event, best->event));
        if (answer != FD_CUDA_SUCCESS) {
            return answer;
        }
        best->gpu = before->gpu + (double)ms * NS_PER_MS;
    }
    anchors->list[anchors->count++ % FD_GPU_ANCHORS] = *best;
    measure_rate(anchors, best);
    return FD_CUDA_SUCCESS;
}

int
fd_gpu_anchors_take(fd_gpu_anchors *anchors)
{
    /* The oldest anchor's event is free for the best attempt. */
    fd_gpu_anchor *oldest = &anchors->list[anchors->count % FD_GPU_ANCHORS];
    fd_gpu_anchor best = {.event = oldest->event};
    for (int i = 0; i < ATTEMPTS; i++) {
        fd_gpu_anchor got = {.width = 0};
        int answer = attempt(anchors, &got);
        if (answer != FD_CUDA_SUCCESS) {
            oldest->event = best.event;
            return answer;
        }
        if (got.width != 0 && (best.width == 0 || got.width < best.width)) {
            got.event = anchors->trial;
            anchors->trial = best.event;
            best = got;
        }
    }
    oldest->event = best.event;
    anchors->next = anchors->now()
                  + (uint64_t)((best.width == 0 ? RETRY_MS : OLD_MS)
                               * (double)NS_PER_MS * anchors->nominal);
    return best.width == 0 ? FD_CUDA_SUCCESS : keep(anchors, &best);
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
        int answer = fd_cuda_answer(
            anchors->cuda,
            anchors->cuda->event_elapsed(&ms, from->event, event));
        if (answer != FD_CUDA_SUCCESS) {
            return answer;
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
    return FD_CUDA_SUCCESS;
}
