#include "gpu/gpu_device.h"

enum { MOST_STREAMS = 256 };

void
fd_gpu_device_init(fd_gpu_device *device, const fd_gpu_runtime *runtime,
                   fd_gpu_figures *figures, int number)
{
    *device = (fd_gpu_device){.runtime = runtime,
                              .figures = figures,
                              .now = fd_clock_ticks,
                              .ticks_per_ns = fd_clock_hertz() / 1e9,
                              .number = number,
                              .pool = {.runtime = runtime}};
    pthread_mutex_init(&device->lock, NULL);
}

static void
count_loss(const fd_gpu_device *device, int counter)
{
    fd_file_count(&device->figures->recording->file, counter);
}

static void
fail_device(fd_gpu_device *device, int error, const char *what)
{
    device->error = error;
    device->failing = what;
    device->failed = true;
}

/* Exchange the capture mode of the thread and return the previous one. In
 * relaxed mode it may call functions that a capture on another stream
 * forbids. */
static int
exchange_mode(const fd_gpu_device *device, int mode)
{
    fd_gpu_result(device->runtime,
                  device->runtime->exchange_capture_mode(&mode));
    return mode;
}

static bool
grow_pool(fd_gpu_device *device)
{
    int result = fd_gpu_pool_grow(&device->pool);
    if (result != FD_GPU_SUCCESS) {
        fail_device(device, result, "EventCreateWithFlags");
    }
    return !device->failed;
}

static bool
take_anchor(fd_gpu_device *device)
{
    int result = fd_gpu_anchors_take(&device->anchors);
    if (result != FD_GPU_SUCCESS) {
        fail_device(device, result, "EventRecord of an anchor");
    }
    return !device->failed;
}

/* Allocate what the device needs, at its first timestamp, so that later ones
 * are cheap. */
static bool
open_device(fd_gpu_device *device)
{
    if (!grow_pool(device)) {
        return false;
    }
    int result = fd_gpu_anchors_open(&device->anchors, device->runtime,
                                     device->now, device->ticks_per_ns);
    if (result != FD_GPU_SUCCESS) {
        fail_device(device, result, "StreamCreateWithFlags");
        return false;
    }
    device->open = take_anchor(device);
    return device->open;
}

static fd_gpu_stream *
stream_of(fd_gpu_device *device, void *handle)
{
    for (uint32_t i = 0; i < device->streams.count; i++) {
        if (device->streams.list[i].handle == handle) {
            return &device->streams.list[i];
        }
    }
    fd_gpu_stream stream = {.handle = handle};
    if (device->streams.count == MOST_STREAMS
        || fd_vector_push(&device->streams, stream) != FD_OK) {
        return NULL;
    }
    return &device->streams.list[device->streams.count - 1];
}

static bool
is_capturing(fd_gpu_device *device, void *stream)
{
    int status = 0;
    int result =
        fd_gpu_result(device->runtime,
                      device->runtime->stream_is_capturing(stream, &status));
    if (result != FD_GPU_SUCCESS && result != FD_GPU_CAPTURE_IMPLICIT) {
        fail_device(device, result, "StreamIsCapturing");
    }
    if (result == FD_GPU_CAPTURE_IMPLICIT
        || (result == FD_GPU_SUCCESS && status != 0)) {
        count_loss(device, FD_COUNT_GPU_CAPTURED);
        return true;
    }
    return false;
}

/* Record and queue an event. Return false if the timestamp is lost. */
static bool
add_timestamp(fd_gpu_device *device, fd_gpu_stream *stream, uint32_t slot,
              bool ends)
{
    void *event = fd_gpu_stream_reserve(stream) == FD_OK
                    ? fd_gpu_pool_take(&device->pool)
                    : NULL;
    if (event == NULL) {
        return false;
    }
    uint64_t host = device->now();
    int result = fd_gpu_result(
        device->runtime, device->runtime->event_record(event, stream->handle));
    if (result != FD_GPU_SUCCESS) {
        fd_gpu_pool_return(&device->pool, event);
        fail_device(device, result, "EventRecord");
        return false;
    }
    fd_gpu_interval *interval = fd_gpu_interval_at(&device->intervals, slot);
    if (!ends) {
        interval->event = event;
        interval->host = host;
    }
    interval->holders++;
    fd_gpu_stream_put(stream, (fd_gpu_timestamp){.event = event,
                                                 .host = host,
                                                 .interval = slot,
                                                 .ends = ends});
    device->timestamps++;
    return true;
}

static int
pass_begin(fd_gpu_device *device, const fd_gpu_timestamp *passed)
{
    fd_gpu_interval *interval =
        fd_gpu_interval_at(&device->intervals, passed->interval);
    int result =
        fd_gpu_anchors_map(&device->anchors, passed->event, &interval->start);
    if (result != FD_GPU_SUCCESS) {
        return result;
    }
    if (interval->start < (int64_t)passed->host) {
        interval->start = (int64_t)passed->host;
        count_loss(device, FD_COUNT_GPU_SHIFTED);
    }
    return result;
}

static int
pass_end(fd_gpu_device *device, const fd_gpu_timestamp *passed)
{
    fd_gpu_intervals *intervals = &device->intervals;
    const fd_gpu_interval *interval =
        fd_gpu_interval_at(intervals, passed->interval);
    float ms = 0;
    int result = fd_gpu_result(
        device->runtime,
        device->runtime->event_elapsed(&ms, interval->event, passed->event));
    if (result != FD_GPU_SUCCESS) {
        return result;
    }
    uint64_t total = ms > 0 ? (uint64_t)((double)ms * 1e6 + 0.5) : 0;
    uint64_t ticks = (uint64_t)((double)total * device->anchors.rate + 0.5);
    fd_gpu_sample sample = {
        .event = {.host = interval->host,
                  .start = (uint64_t)interval->start,
                  .ticks = ticks,
                  .context = interval->context,
                  .thread = interval->thread,
                  .device = (uint16_t)device->number,
                  .stream = interval->stream},
        .total = total,
        .self = total > interval->nested ? total - interval->nested : 0,
        .launch_bound =
            (uint64_t)interval->start + ticks
            <= passed->host + fd_gpu_anchors_latest(&device->anchors)->width,
    };
    fd_gpu_figures_add(device->figures, &sample);
    if (interval->parent != 0) {
        fd_gpu_interval_at(intervals, interval->parent)->nested += total;
    }
    fd_gpu_pool_return(&device->pool, passed->event);
    return result;
}

static void
drain_stream(fd_gpu_device *device, fd_gpu_stream *stream)
{
    while (!fd_gpu_stream_is_empty(stream) && !device->failed) {
        const fd_gpu_timestamp *head = fd_gpu_stream_head(stream);
        int result = fd_gpu_result(device->runtime,
                                   device->runtime->event_query(head->event));
        if (result == FD_GPU_NOT_READY) {
            return;
        }
        if (result != FD_GPU_SUCCESS) {
            fail_device(device, result, "EventQuery");
            return;
        }
        fd_gpu_timestamp passed = fd_gpu_stream_pop(stream);
        result = passed.ends ? pass_end(device, &passed)
                             : pass_begin(device, &passed);
        if (result != FD_GPU_SUCCESS) {
            fail_device(device, result, "EventElapsedTime");
            return;
        }
        fd_gpu_interval_release(&device->intervals, passed.interval,
                                &device->pool);
    }
}

/* Drop the reference held by the call. */
static void
release_call(fd_gpu_device *device, uint32_t slot)
{
    fd_gpu_interval *interval = fd_gpu_interval_at(&device->intervals, slot);
    interval->open = false;
    interval->lost = false;
    fd_gpu_interval_release(&device->intervals, slot, &device->pool);
}

static void
sweep_intervals(fd_gpu_device *device, bool all)
{
    for (uint32_t slot = 1; slot < device->intervals.count; slot++) {
        const fd_gpu_interval *interval =
            fd_gpu_interval_at(&device->intervals, slot);
        if (interval->open && (all || interval->lost)) {
            if (!interval->lost) {
                count_loss(device, FD_COUNT_GPU_DROPPED);
            }
            release_call(device, slot);
        }
    }
}

static void
drain_device(fd_gpu_device *device)
{
    for (uint32_t i = 0; i < device->streams.count; i++) {
        drain_stream(device, &device->streams.list[i]);
    }
}

/* Return whether the pool has enough events for a new interval and for the
 * ends of the open ones. */
static bool
has_events(fd_gpu_device *device)
{
    enum { LEAST = 64 };
    if (device->pool.free.count >= LEAST) {
        return true;
    }
    drain_device(device);
    if (device->pool.free.count < LEAST) {
        device->pool.dry = true;
        return !device->failed && !device->warm && grow_pool(device)
            && device->pool.free.count >= LEAST;
    }
    return !device->failed;
}

static bool
prepare_device(fd_gpu_device *device)
{
    bool old = !device->open
            || fd_gpu_anchors_are_old(&device->anchors, device->now());
    if (!old && device->pool.free.count > FD_GPU_POOL_STEP / 4) {
        return true;
    }
    int mode = exchange_mode(device, FD_GPU_CAPTURE_RELAXED);
    bool ready =
        device->open ? !old || take_anchor(device) : open_device(device);
    ready = ready && device->anchors.count > 0 && has_events(device);
    exchange_mode(device, mode);
    return ready;
}

/* Return the innermost open interval around a call on the same stream. */
static uint32_t
parent_of(const fd_gpu_device *device, const fd_gpu_call *call,
          uint16_t stream)
{
    for (uint32_t i = call->depth; i-- > 0;) {
        uint32_t slot = call->around[i];
        if (fd_gpu_interval_at(&device->intervals, slot)->stream == stream) {
            return slot;
        }
    }
    return 0;
}

static uint32_t
begin_interval(fd_gpu_device *device, const fd_gpu_call *call)
{
    fd_gpu_stream *stream =
        prepare_device(device) ? stream_of(device, call->stream) : NULL;
    uint32_t slot =
        stream == NULL ? 0 : fd_gpu_interval_take(&device->intervals);
    if (slot == 0) {
        return 0;
    }
    fd_gpu_interval *interval = fd_gpu_interval_at(&device->intervals, slot);
    interval->stream = (uint16_t)(stream - device->streams.list);
    interval->thread = call->thread;
    if (!add_timestamp(device, stream, slot, false)) {
        release_call(device, slot);
        return 0;
    }
    interval->parent = parent_of(device, call, interval->stream);
    if (interval->parent != 0) {
        fd_gpu_interval_at(&device->intervals, interval->parent)->holders++;
    }
    return slot;
}

uint32_t
fd_gpu_device_begin(fd_gpu_device *device, const fd_gpu_call *call)
{
    if (device->failed || !fd_gpu_is_clean(device->runtime)
        || pthread_mutex_trylock(&device->lock) != 0) {
        count_loss(device, FD_COUNT_GPU_LOST);
        return 0;
    }
    uint32_t slot = 0;
    if (device->failed) {
        count_loss(device, FD_COUNT_GPU_LOST);
    }
    else if (!is_capturing(device, call->stream)) {
        slot = device->failed ? 0 : begin_interval(device, call);
        if (slot == 0) {
            count_loss(device, FD_COUNT_GPU_LOST);
        }
    }
    pthread_mutex_unlock(&device->lock);
    return slot;
}

void
fd_gpu_device_end(fd_gpu_device *device, uint32_t slot, uint32_t context)
{
    if (device->failed || !fd_gpu_is_clean(device->runtime)
        || pthread_mutex_trylock(&device->lock) != 0) {
        fd_gpu_device_drop(device, slot);
        return;
    }
    fd_gpu_interval *interval = fd_gpu_interval_at(&device->intervals, slot);
    fd_gpu_stream *stream = &device->streams.list[interval->stream];
    if (interval->open) { /* closed by fd_gpu_device_close */
        interval->context = context;
        if (is_capturing(device, stream->handle) || device->failed
            || !add_timestamp(device, stream, slot, true)) {
            count_loss(device, FD_COUNT_GPU_DROPPED);
        }
        release_call(device, slot);
    }
    pthread_mutex_unlock(&device->lock);
}

void
fd_gpu_device_drop(fd_gpu_device *device, uint32_t slot)
{
    count_loss(device, FD_COUNT_GPU_DROPPED);
    if (pthread_mutex_trylock(&device->lock) == 0) {
        if (fd_gpu_interval_at(&device->intervals, slot)->open) {
            release_call(device, slot);
        }
        pthread_mutex_unlock(&device->lock);
    }
    else {
        fd_gpu_interval_at(&device->intervals, slot)->lost = true;
    }
}

void
fd_gpu_device_drain(fd_gpu_device *device, bool grows)
{
    if (device->failed || !fd_gpu_is_clean(device->runtime)
        || pthread_mutex_trylock(&device->lock) != 0) {
        return;
    }
    if (device->open) {
        int mode = exchange_mode(device, FD_GPU_CAPTURE_RELAXED);
        drain_device(device);
        sweep_intervals(device, false);
        if (grows && device->pool.dry && !device->failed) {
            grow_pool(device);
        }
        device->warm = device->warm || grows;
        exchange_mode(device, mode);
    }
    pthread_mutex_unlock(&device->lock);
}

bool
fd_gpu_device_is_busy(fd_gpu_device *device)
{
    bool busy = false;
    if (device->failed || pthread_mutex_trylock(&device->lock) != 0) {
        return !device->failed;
    }
    for (uint32_t i = 0; i < device->streams.count; i++) {
        busy |= !fd_gpu_stream_is_empty(&device->streams.list[i]);
    }
    pthread_mutex_unlock(&device->lock);
    return busy;
}

/* Release all incomplete intervals and timestamps. */
static void
release_all(fd_gpu_device *device)
{
    sweep_intervals(device, true);
    for (uint32_t i = 0; i < device->streams.count; i++) {
        fd_gpu_stream *stream = &device->streams.list[i];
        while (!fd_gpu_stream_is_empty(stream)) {
            fd_gpu_timestamp left = fd_gpu_stream_pop(stream);
            if (left.ends) {
                count_loss(device, FD_COUNT_GPU_UNFINISHED);
                fd_gpu_pool_return(&device->pool, left.event);
            }
            fd_gpu_interval_release(&device->intervals, left.interval,
                                    &device->pool);
        }
    }
}

void
fd_gpu_device_close(fd_gpu_device *device)
{
    device->failed = true;
    device->stuck = pthread_mutex_trylock(&device->lock) != 0;
    if (!device->stuck) {
        release_all(device);
        pthread_mutex_unlock(&device->lock);
    }
}

void
fd_gpu_device_clear(fd_gpu_device *device, bool alive)
{
    for (uint32_t i = 0; i < device->streams.count; i++) {
        fd_gpu_stream_clear(&device->streams.list[i]);
    }
    fd_vector_clear(&device->streams);
    fd_gpu_intervals_clear(&device->intervals);
    if (device->anchors.runtime != NULL) {
        fd_gpu_anchors_clear(&device->anchors, alive);
    }
    fd_gpu_pool_clear(&device->pool, alive);
    pthread_mutex_destroy(&device->lock);
}
