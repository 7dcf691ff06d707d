/* A STAND-IN for NVIDIA's libcudart, for tests on machines without a GPU. It
 * computes nothing. It simulates the time of a GPU that passes events in the
 * order of their stream, and returns the errors of CUDA: not ready, captured,
 * wrong device, last errors per thread, sticky errors. Tests control it
 * through cudart.h; it counts every call, so that a test can check which were
 * not made.
 *
 * Built as libcudart.so.13, so that it is found by the name of the real one. As
 * libamdhip64.so.6 with the names of HIP's functions, whose errors have the
 * same numbers, it is a stand-in for HIP. */
#define _GNU_SOURCE /* dladdr */
#include "cudart.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    NO_DEVICE = 100,
    INVALID_HANDLE = 400,
    NOT_READY = 600,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_IMPLICIT = 906,
    DEVICES = 4,
    MODE_GLOBAL = 0,
    MODE_RELAXED = 2
};

typedef struct stream {
    int device;
    int capture; /* 0 none, 1 active, 2 invalidated */
    uint64_t busy_until;
} stream;

typedef struct event {
    int device;
    bool recorded;
    bool captured;
    uint64_t at;
} event;

typedef struct device {
    double rate; /* of its clock relative to the host's */
    stream legacy;
} device;

typedef struct call {
    const char *name;
    uint64_t count;
    int fails_in; /* 0: never */
    int error;
    bool sticky;
} call;

static struct {
    pthread_mutex_t lock;
    uint64_t clock; /* 0: the real one */
    uint64_t latency;
    uint64_t price;
    int devices;
    device device[DEVICES];
    stream *capturing;
    int sticky; /* the context is lost */
    call calls[24];
    struct {
        const char *library; /* path; owned by the loader */
        uint64_t count;
    } sleepers[32];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread int current;
static __thread int last_error;
static __thread int mode;

void
standin_reset(void)
{
    state.clock = 0;
    state.latency = 0;
    state.price = 100;
    state.devices = 2;
    state.capturing = NULL;
    state.sticky = 0;
    memset(state.calls, 0, sizeof state.calls);
    memset(state.sleepers, 0, sizeof state.sleepers);
    for (int i = 0; i < DEVICES; i++) {
        state.device[i] = (device){.rate = 1, .legacy = {.device = i}};
    }
    current = 0;
    last_error = 0;
    mode = MODE_GLOBAL;
}

__attribute__((constructor)) static void
start(void)
{
    standin_reset();
}

void
standin_clock(uint64_t ns)
{
    state.clock = ns;
}

void
standin_pass(uint64_t ns)
{
    state.clock += ns;
}

uint64_t
standin_now(void)
{
    struct timespec now;
    if (state.clock != 0) {
        return state.clock;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
standin_devices(int count)
{
    state.devices = count;
}

void
standin_drift(int number, double ppm)
{
    state.device[number].rate = 1 + ppm * 1e-6;
}

void
standin_latency(uint64_t ns)
{
    state.latency = ns;
}

static stream *
stream_of(void *handle)
{
    return handle == NULL ? &state.device[current].legacy : handle;
}

/* The begin of work that is launched on the stream now. */
static uint64_t
next(const stream *on)
{
    uint64_t seen = standin_now() + state.latency;
    return seen > on->busy_until ? seen : on->busy_until;
}

void
standin_launch(void *handle, uint64_t ns)
{
    stream *on = stream_of(handle);
    on->busy_until = next(on) + ns;
}

void
standin_capture(void *handle, int status)
{
    stream *on = stream_of(handle);
    on->capture = status;
    state.capturing = status == 0 ? NULL : on;
}

int
standin_capture_of(void *handle)
{
    return stream_of(handle)->capture;
}

static call *
call_of(const char *name)
{
    call *at = state.calls;
    while (at->name != NULL && strcmp(at->name, name) != 0) {
        at++;
    }
    at->name = name;
    return at;
}

void
standin_fail(const char *function, int nth, int error, int sticky)
{
    call *which = call_of(function);
    which->fails_in = nth;
    which->error = error;
    which->sticky = sticky != 0;
}

void
standin_leave_error(int error)
{
    last_error = error;
}

uint64_t
standin_calls(const char *function)
{
    return call_of(function)->count;
}

uint64_t
standin_sleeps(const char *library)
{
    uint64_t count = 0;
    for (int i = 0; i < 32 && state.sleepers[i].library != NULL; i++) {
        if (strstr(state.sleepers[i].library, library) != NULL) {
            count += state.sleepers[i].count;
        }
    }
    return count;
}

static void
note_sleep(const void *caller)
{
    Dl_info info;
    const char *library = dladdr(caller, &info) != 0 ? info.dli_fname : "?";
    int at = 0;
    pthread_mutex_lock(&state.lock);
    while (at < 31 && state.sleepers[at].library != NULL
           && state.sleepers[at].library != library) {
        at++;
    }
    state.sleepers[at].library = library;
    state.sleepers[at].count++;
    pthread_mutex_unlock(&state.lock);
}

/* The function of the C library, with a log. */
int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                struct timespec *left)
{
    note_sleep(__builtin_return_address(0));
    return syscall(SYS_clock_nanosleep, clock, flags, time, left) == 0 ? 0
                                                                       : errno;
}

int
nanosleep(const struct timespec *time, struct timespec *left)
{
    note_sleep(__builtin_return_address(0));
    return (int)syscall(SYS_nanosleep, time, left);
}

int
usleep(useconds_t us)
{
    note_sleep(__builtin_return_address(0));
    return (int)syscall(SYS_nanosleep,
                        &(struct timespec){us / 1000000, us % 1000000 * 1000},
                        NULL);
}

/* The begin of every call: logs it, and fails if scripted. */
static int
enter(const char *name)
{
    pthread_mutex_lock(&state.lock);
    call *which = call_of(name);
    which->count++;
    if (state.devices == 0) {
        return NO_DEVICE;
    }
    if (which->fails_in > 0 && --which->fails_in == 0) {
        state.sticky = which->sticky ? which->error : 0;
        return which->error;
    }
    return state.sticky;
}

static int
leave(int answer)
{
    if (answer != SUCCESS) {
        last_error = answer;
    }
    pthread_mutex_unlock(&state.lock);
    return answer;
}

/* A call that ends a capture in the global mode. */
static bool
is_unsafe(void)
{
    if (state.capturing == NULL || mode == MODE_RELAXED) {
        return false;
    }
    state.capturing->capture = 2;
    return true;
}

int
cudaEventCreateWithFlags(cuda_event *made, unsigned int flags)
{
    int answer = enter("cudaEventCreateWithFlags");
    if (answer == SUCCESS && flags == 0) {
        event *one = calloc(1, sizeof *one);
        one->device = current;
        *made = one;
    }
    return leave(answer);
}

int
cudaEventRecord(cuda_event which, cuda_stream handle)
{
    event *one = which;
    stream *on = stream_of(handle);
    int answer = enter("cudaEventRecord");
    if (answer == SUCCESS && one->device != on->device) {
        answer = INVALID_HANDLE;
    }
    if (answer == SUCCESS) {
        one->captured = on->capture != 0;
        one->recorded = true;
        one->at = next(on);
        on->busy_until = one->at;
    }
    return leave(answer);
}

int
cudaEventQuery(cuda_event which)
{
    const event *one = which;
    int answer = enter("cudaEventQuery");
    if (state.clock != 0) {
        state.clock += state.price;
    }
    if (answer == SUCCESS && is_unsafe()) {
        answer = CAPTURE_UNSUPPORTED;
    }
    if (answer == SUCCESS && one->recorded && one->at > standin_now()) {
        answer = NOT_READY;
    }
    return leave(answer);
}

int
cudaEventSynchronize(cuda_event which)
{
    (void)which;
    return leave(enter("cudaEventSynchronize"));
}

int
cudaEventElapsedTime(float *ms, cuda_event from, cuda_event to)
{
    const event *a = from;
    const event *b = to;
    int answer = enter("cudaEventElapsedTime");
    if (answer == SUCCESS && (a->captured || b->captured)) {
        answer = INVALID_VALUE;
    }
    if (answer == SUCCESS
        && (!a->recorded || !b->recorded || a->device != b->device)) {
        answer = INVALID_HANDLE;
    }
    if (answer == SUCCESS
        && (a->at > standin_now() || b->at > standin_now())) {
        answer = NOT_READY;
    }
    if (answer == SUCCESS) {
        double ns = (double)((int64_t)b->at - (int64_t)a->at);
        *ms = (float)(ns * state.device[a->device].rate / 1e6);
    }
    return leave(answer);
}

int
cudaEventDestroy(cuda_event which)
{
    int answer = enter("cudaEventDestroy");
    free(which);
    return leave(answer);
}

int
cudaStreamCreateWithFlags(cuda_stream *made, unsigned int flags)
{
    (void)flags;
    int answer = enter("cudaStreamCreateWithFlags");
    if (answer == SUCCESS) {
        stream *one = calloc(1, sizeof *one);
        one->device = current;
        *made = one;
    }
    return leave(answer);
}

int
cudaStreamDestroy(cuda_stream handle)
{
    int answer = enter("cudaStreamDestroy");
    free(handle);
    return leave(answer);
}

int
cudaStreamSynchronize(cuda_stream handle)
{
    (void)handle;
    return leave(enter("cudaStreamSynchronize"));
}

int
cudaStreamQuery(cuda_stream handle)
{
    int answer = enter("cudaStreamQuery");
    if (answer == SUCCESS && stream_of(handle)->busy_until > standin_now()) {
        answer = NOT_READY;
    }
    return leave(answer);
}

int
cudaStreamIsCapturing(cuda_stream handle, int *status)
{
    const stream *on = stream_of(handle);
    int answer = enter("cudaStreamIsCapturing");
    if (answer == SUCCESS && handle == NULL && state.capturing != NULL
        && state.capturing != on) {
        answer = CAPTURE_IMPLICIT;
    }
    *status = on->capture;
    return leave(answer);
}

int
cudaDeviceSynchronize(void)
{
    return leave(enter("cudaDeviceSynchronize"));
}

int
cudaGetDevice(int *number)
{
    int answer = enter("cudaGetDevice");
    *number = current;
    return leave(answer);
}

int
cudaSetDevice(int number)
{
    int answer = enter("cudaSetDevice");
    current = number;
    return leave(answer);
}

int
cudaThreadExchangeStreamCaptureMode(int *exchanged)
{
    int answer = enter("cudaThreadExchangeStreamCaptureMode");
    int before = mode;
    mode = *exchanged;
    *exchanged = before;
    return leave(answer);
}

int
cudaPeekAtLastError(void)
{
    return state.sticky != 0 ? state.sticky : last_error;
}

int
cudaGetLastError(void)
{
    int answer = cudaPeekAtLastError();
    last_error = 0;
    return answer;
}
