#include "gpu/busy_time.h"

#include <string.h>

enum {
    MOST_WAITING = 65536,
    LONGEST_LATENCY = 100000 /* ns from a launch to the start of its kernel */
};

void
fd_busy_time_clear(fd_busy_time *time)
{
    fd_vector_clear(&time->waiting);
    fd_vector_clear(&time->devices);
}

bool
fd_busy_time_add(fd_busy_time *time, const fd_busy_kernel *kernel)
{
    fd_status status = fd_vector_push(&time->waiting, *kernel);
    return status == FD_OK && time->waiting.count >= MOST_WAITING;
}

FD_ORDER_BY(by_start, fd_busy_kernel, start, device)

/* Return the figures of a device, or NULL without memory. */
static fd_busy_device *
device_of(fd_busy_time *time, uint32_t number)
{
    for (uint32_t i = 0; i < time->devices.count; i++) {
        if (time->devices.list[i].device == number) {
            return &time->devices.list[i];
        }
    }
    fd_busy_device device = {.device = number};
    return fd_vector_push(&time->devices, device) == FD_OK
             ? &time->devices.list[time->devices.count - 1]
             : NULL;
}

static uint64_t
last_end(const fd_busy_device *device)
{
    uint64_t last = 0;
    for (int use = 0; use < FD_USES; use++) {
        last = device->until[use] > last ? device->until[use] : last;
    }
    return last;
}

/* Return why a launched kernel did not start at `from`, but later. */
static fd_idle_cause
delay_of(const fd_busy_device *device, const fd_busy_kernel *next,
         uint64_t from, uint64_t delay)
{
    bool early = next->launched + LONGEST_LATENCY <= from;
    bool waited = early && next->stream != device->last_stream;
    return waited || delay > LONGEST_LATENCY ? FD_IDLE_WAIT : FD_IDLE_LAUNCH;
}

/* Divide the idle time before the next kernel, or before the end of the
 * window. */
static void
divide_idle(fd_busy_time *time, fd_busy_device *device, uint64_t from,
            uint64_t to, const fd_busy_kernel *next)
{
    uint64_t launched = next != NULL ? next->launched : to;
    if (launched == 0) {
        device->idle[FD_IDLE_UNDECIDED] += to - from;
        return;
    }
    launched = launched < from ? from : launched > to ? to : launched;
    if (launched > from) {
        uint64_t known =
            time->late(time->user, device->device,
                       next != NULL ? next->log : 0, from, launched);
        device->idle[next != NULL ? FD_IDLE_HOST : FD_IDLE_END] += known;
        device->idle[FD_IDLE_UNDECIDED] += launched - from - known;
    }
    if (launched < to) {
        device->idle[delay_of(device, next, from, to - launched)] +=
            to - launched;
    }
}

/* Return for how long kernels both compute and communicate. */
static uint64_t
hidden_time(const fd_busy_device *device, uint64_t from, uint64_t to)
{
    uint64_t compute = device->until[FD_USE_COMPUTE];
    uint64_t until = device->until[FD_USE_COMMUNICATION];
    until = compute < until ? compute : until;
    until = until < to ? until : to;
    return until > from ? until - from : 0;
}

/* Divide the time up to `to`, in which no further kernel starts. */
static void
advance_device(fd_busy_time *time, fd_busy_device *device, uint64_t to,
               const fd_busy_kernel *next)
{
    uint64_t from =
        device->cursor > time->counted ? device->cursor : time->counted;
    device->cursor = device->cursor > to ? device->cursor : to;
    if (from >= to) {
        return;
    }
    device->window += to - from;
    device->hidden += hidden_time(device, from, to);
    for (int use = 0; use < FD_USES; use++) {
        uint64_t until = device->until[use] < to ? device->until[use] : to;
        if (until > from) {
            device->busy[use] += until - from;
            from = until;
        }
    }
    if (from < to) {
        divide_idle(time, device, from, to, next);
    }
}

/* Return the time at which the window begins on the device of its first
 * kernel. A kernel that was launched long before it started found the device
 * busy. */
static uint64_t
begin_of(const fd_busy_time *time, const fd_busy_kernel *first)
{
    bool idle = time->begin != 0 && time->idle_device == first->device
             && time->begin < first->start && first->launched != 0
             && first->start <= first->launched + LONGEST_LATENCY;
    return idle ? time->begin : first->start;
}

/* A kernel of another step: the idle time before it is not decided. */
static void
pass_outside(fd_busy_time *time, fd_busy_device *device,
             const fd_busy_kernel *kernel)
{
    device->done = kernel->end > device->done ? kernel->end : device->done;
    if (device->cursor != 0) {
        fd_busy_kernel unknown = {.launched = 0};
        advance_device(time, device, kernel->start, &unknown);
        device->cursor =
            kernel->end > device->cursor ? kernel->end : device->cursor;
    }
}

static void
pass_kernel(fd_busy_time *time, const fd_busy_kernel *kernel)
{
    fd_busy_device *device = device_of(time, kernel->device);
    if (device == NULL) {
        return;
    }
    if (kernel->use == FD_USE_OUTSIDE) {
        pass_outside(time, device, kernel);
        return;
    }
    if (device->cursor == 0) {
        uint64_t begin = begin_of(time, kernel);
        device->cursor = begin > device->done ? begin : device->done;
    }
    advance_device(time, device, kernel->start, kernel);
    if (kernel->end > last_end(device)) {
        device->last_stream = kernel->stream;
    }
    if (kernel->end > device->until[kernel->use]) {
        device->until[kernel->use] = kernel->end;
    }
}

void
fd_busy_time_settle(fd_busy_time *time, uint64_t until)
{
    uint32_t done = 0;
    fd_vector_sort(&time->waiting, by_start);
    while (done < time->waiting.count
           && time->waiting.list[done].start < until) {
        pass_kernel(time, &time->waiting.list[done++]);
    }
    time->waiting.count -= done;
    if (done > 0 && time->waiting.count > 0) {
        memmove(time->waiting.list, time->waiting.list + done,
                time->waiting.count * sizeof *time->waiting.list);
    }
}

void
fd_busy_time_end(fd_busy_time *time, uint64_t end)
{
    fd_busy_time_settle(time, UINT64_MAX);
    for (uint32_t i = 0; i < time->devices.count; i++) {
        fd_busy_device *device = &time->devices.list[i];
        uint64_t last = last_end(device);
        if (device->cursor != 0) {
            advance_device(time, device, last > end ? last : end, NULL);
            device->done = device->cursor;
        }
        device->cursor = 0;
        memset(device->until, 0, sizeof device->until);
    }
    time->begin = 0;
}

/* Names of fd_gpu_use and fd_idle_cause. */
static const char *const uses[] = {"compute_ns", "communication_ns",
                                   "copy_ns"};
static const char *const causes[] = {"host_ns", "end_ns", "launch_ns",
                                     "wait_ns", "undecided_ns"};

void
fd_busy_time_write(const fd_busy_time *time, fd_json_writer *w)
{
    fd_json_begin_array(w, "devices");
    for (uint32_t i = 0; i < time->devices.count; i++) {
        const fd_busy_device *device = &time->devices.list[i];
        fd_json_begin_object(w, NULL);
        fd_json_put_u64(w, "device", device->device);
        fd_json_put_u64(w, "window_ns", device->window);
        for (int use = 0; use < FD_USES; use++) {
            fd_json_put_u64(w, uses[use], device->busy[use]);
        }
        for (int cause = 0; cause < FD_IDLE_CAUSES; cause++) {
            fd_json_put_u64(w, causes[cause], device->idle[cause]);
        }
        fd_json_put_u64(w, "hidden_ns", device->hidden);
        fd_json_end_object(w);
    }
    fd_json_end_array(w);
}
