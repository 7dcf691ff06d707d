#include "gpu/gpu.h"

#include "json/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

fd_status
fd_gpu_open(fd_gpu **gpu, fd_recording *recording, fd_error *error)
{
    fd_gpu_runtime runtime;
    fd_status status = fd_gpu_runtime_find(&runtime, error);
    if (status != FD_OK) {
        return status;
    }
    fd_gpu *made = fd_calloc(1, sizeof *made);
    if (made == NULL) {
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    made->runtime = runtime;
    made->process = getpid();
    fd_gpu_figures_init(&made->figures, recording);
    pthread_mutex_init(&made->lock, NULL);
    *gpu = made;
    return FD_OK;
}

/* Add a device. The caller holds the lock. */
static fd_gpu_device *
add_device(fd_gpu *gpu, int number)
{
    fd_gpu_device *device = gpu->devices[number];
    if (device == NULL) {
        device = fd_malloc(sizeof *device);
    }
    if (device != NULL && gpu->devices[number] == NULL) {
        fd_gpu_device_init(device, &gpu->runtime, &gpu->figures, number);
        gpu->devices[number] = device;
    }
    return device;
}

fd_gpu_device *
fd_gpu_current(fd_gpu *gpu)
{
    int number = -1;
    if (!fd_gpu_is_clean(&gpu->runtime)
        || fd_gpu_result(&gpu->runtime, gpu->runtime.get_device(&number))
               != FD_GPU_SUCCESS
        || number < 0 || number >= FD_GPU_DEVICES) {
        return NULL;
    }
    fd_gpu_device *device =
        atomic_load_explicit(&gpu->devices[number], memory_order_acquire);
    if (device == NULL) {
        pthread_mutex_lock(&gpu->lock);
        device = add_device(gpu, number);
        pthread_mutex_unlock(&gpu->lock);
    }
    return device;
}

/* Return whether events may be queried. Querying an event of another device
 * initialises CUDA on the current one, which costs memory, so the current
 * device must be one in use. */
static bool
may_query(fd_gpu *gpu)
{
    int number = -1;
    return gpu->process == getpid() && fd_gpu_is_clean(&gpu->runtime)
        && fd_gpu_result(&gpu->runtime, gpu->runtime.get_device(&number))
               == FD_GPU_SUCCESS
        && number >= 0 && number < FD_GPU_DEVICES
        && gpu->devices[number] != NULL;
}

void
fd_gpu_drain(fd_gpu *gpu, bool grows)
{
    int number = -1;
    if (!may_query(gpu)) {
        return;
    }
    gpu->runtime.get_device(&number);
    for (int i = 0; i < FD_GPU_DEVICES; i++) {
        fd_gpu_device *device = gpu->devices[i];
        if (device != NULL) {
            fd_gpu_device_drain(device, grows && i == number);
        }
    }
}

static bool
is_busy(fd_gpu *gpu)
{
    bool busy = false;
    for (int i = 0; i < FD_GPU_DEVICES; i++) {
        fd_gpu_device *device = gpu->devices[i];
        busy = busy || (device != NULL && fd_gpu_device_is_busy(device));
    }
    return busy;
}

bool
fd_gpu_wait(fd_gpu *gpu, int patience_ms)
{
    const struct timespec pause = {0, 1000000};
    fd_gpu_drain(gpu, false);
    bool waits = may_query(gpu) && is_busy(gpu);
    for (int i = 0; i < patience_ms && waits; i++) {
        nanosleep(&pause, NULL);
        fd_gpu_drain(gpu, false);
        waits = may_query(gpu) && is_busy(gpu);
    }
    return waits;
}

static void
describe_device(const fd_gpu_device *device, fd_json_writer *w)
{
    double width = device->anchors.count == 0
                     ? 0
                     : (double)fd_gpu_anchors_latest(&device->anchors)->width;
    char error[160];
    fd_json_begin_object(w, NULL);
    fd_json_put_i64(w, "device", device->number);
    fd_json_put_u64(w, "streams", device->streams.count);
    fd_json_put_u64(w, "marks", device->timestamps);
    fd_json_put_u64(w, "events", device->pool.made);
    fd_json_put_double(w, "uncertainty_ns",
                       rint(width / 2 / device->ticks_per_ns));
    if (device->stuck) {
        fd_json_put_text(
            w, "error",
            "a thread was inside the runtime at the end: unfinished "
            "intervals are not counted");
    }
    else if (device->error != 0) {
        snprintf(error, sizeof error,
                 "%s%s failed with error %d: the GPU is not timed from there "
                 "on",
                 device->runtime->prefix, device->failing, device->error);
        fd_json_put_text(w, "error", error);
    }
    fd_json_end_object(w);
}

static void
note_devices(fd_gpu *gpu)
{
    fd_buffer text = {.bytes = NULL};
    fd_json_writer w = {.to = &text};
    fd_json_begin_object(&w, NULL);
    fd_json_put_text(&w, "library", gpu->runtime.library);
    fd_json_begin_array(&w, "devices");
    for (int i = 0; i < FD_GPU_DEVICES; i++) {
        if (gpu->devices[i] != NULL) {
            describe_device(gpu->devices[i], &w);
        }
    }
    fd_json_end_array(&w);
    fd_json_end_object(&w);
    fd_buffer_bytes(&text, "", 1); /* terminating NUL */
    if (text.status == FD_OK) {
        fd_recording_note(gpu->figures.recording, "gpu_devices", text.bytes);
    }
    fd_buffer_clear(&text);
}

void
fd_gpu_close(fd_gpu *gpu)
{
    if (gpu->process != getpid()) {
        return; /* in a forked child the recording is detached */
    }
    for (int i = 0; i < FD_GPU_DEVICES; i++) {
        fd_gpu_device *device = gpu->devices[i];
        if (device != NULL) {
            fd_gpu_device_close(device);
        }
    }
    note_devices(gpu);
}

void
fd_gpu_free(fd_gpu *gpu)
{
    bool alive = gpu->process == getpid() && fd_gpu_is_clean(&gpu->runtime);
    for (int i = 0; i < FD_GPU_DEVICES; i++) {
        fd_gpu_device *device = gpu->devices[i];
        if (device != NULL) {
            fd_gpu_device_clear(device, alive);
            fd_free(device);
        }
    }
    fd_gpu_figures_clear(&gpu->figures);
    pthread_mutex_destroy(&gpu->lock);
    fd_free(gpu);
}
