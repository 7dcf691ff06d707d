#include "gpu/kernel_collector.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "recording/gpu_format.h"
#include "json/json_writer.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_EACH_MS = 100, /* while kernels are expected */
    CLOSING_S = 1,
    FIRST_STEPS = 3 /* in which it is not measured when the GPU is busy */
};

/* CUPTI passes no pointer to the functions for buffers. */
static fd_kernel_collector of_process;

/* The outermost call of CUDA that this thread is in, and its window; 0: none.
 * The driver's call inside a runtime's is part of it. */
static _Thread_local struct {
    uint32_t id;
    uint32_t function;
    uint32_t window;
} launching;

static bool
is_launching(const fd_kernel_collector *collector)
{
    return launching.id != 0 && launching.window == collector->window;
}

/* Note which call launched a node into a CUDA graph that is captured; a copy
 * of a node belongs to the same call. */
static void
note_node(fd_kernel_collector *collector, uint32_t event, const void *resource)
{
    uint64_t id = fd_cupti_node(&collector->cupti, resource, false);
    uint32_t context = event == FD_CUPTI_NEW_NODE
                         ? collector->running(fd_clock_ticks()).context
                         : fd_graph_nodes_get(
                             &collector->nodes,
                             fd_cupti_node(&collector->cupti, resource, true));
    if (context != 0) {
        fd_graph_nodes_put(&collector->nodes, id, context);
    }
    if (event == FD_CUPTI_NEW_NODE && is_launching(collector)) {
        fd_launches_capture(&collector->launches, launching.id);
    }
}

static void
begin_launch(fd_kernel_collector *collector, uint32_t id, uint32_t function)
{
    uint64_t now = fd_clock_ticks();
    fd_launcher launcher = collector->running(now);
    launcher.function = function;
    launching.id = id;
    launching.function = function;
    launching.window = collector->window;
    fd_launches_put(&collector->launches, id, launcher, now);
}

static void
note_launch(void *user, int domain, uint32_t function, const void *call)
{
    fd_kernel_collector *collector = &of_process;
    if (domain == FD_CUPTI_RESOURCE) {
        if (collector->state == FD_KERNELS_ON) {
            note_node(collector, function, call);
        }
        return;
    }
    bool begins;
    uint32_t id = fd_cupti_launched(call, &begins);
    uint32_t which = fd_launch_function((uint32_t)domain, function);
    (void)user;
    if (collector->state != FD_KERNELS_ON) {
        return;
    }
    if (begins) {
        if (!is_launching(collector)) {
            begin_launch(collector, id, which);
        }
        return;
    }
    if (collector->times_calls) {
        fd_launches_end(&collector->launches, id, which, fd_clock_ticks());
    }
    if (launching.id == id && launching.function == which) {
        launching.id = 0;
    }
}

static void
give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = fd_cupti_buffers_take(&of_process.buffers, size);
    *records = 0; /* as many as fit */
}

static void
take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
            size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    fd_cupti_buffers_fill(&of_process.buffers, buffer, valid);
    sem_post(&of_process.asked);
}

static const fd_cupti_functions functions = {note_launch, give_buffer,
                                             take_buffer};

static void
count_lost(const fd_kernel_collector *collector, uint64_t count)
{
    fd_file_add(&collector->figures->recording->file, FD_COUNT_GPU_LOST,
                count);
}

static void
add_kernel(fd_kernel_collector *collector, const fd_cupti_record *record)
{
    fd_kernel_sample kernel = {.record = *record};
    fd_launch_state state =
        fd_launches_find(&collector->launches, record->correlation,
                         &kernel.launcher, &kernel.launched);
    if (state == FD_LAUNCH_OUTSIDE) {
        fd_kernel_figures_skip(collector->figures, record);
    }
    else {
        collector->unknown += state == FD_LAUNCH_UNKNOWN;
        kernel.captured = fd_graph_nodes_get(&collector->nodes, record->node);
        fd_kernel_figures_add(collector->figures, &kernel);
        fd_gpu_health_see(&collector->health, record->device);
    }
}

/* Read the records of a buffer. A damaged record ends it. */
static void
read_buffer(fd_kernel_collector *collector, const fd_cupti_buffer *buffer)
{
    enum { END = 12 }; /* no more records: anything else is damage */
    uint8_t *end = buffer->bytes + buffer->valid;
    void *record = NULL;
    fd_cupti_record kernel;
    int result;
    while ((result = collector->cupti.next_record(buffer->bytes, buffer->valid,
                                                  &record))
           == FD_CUPTI_SUCCESS) {
        uint8_t *at = record;
        if (at < buffer->bytes || at >= end) {
            break;
        }
        if (fd_cupti_decode(at, (size_t)(end - at), &kernel)) {
            add_kernel(collector, &kernel);
        }
    }
    count_lost(collector, result != END);
}

/* Return whether all launches have run. Of those that were captured into a
 * graph the latest one may be known. */
static bool
has_all(const fd_kernel_collector *collector)
{
    return fd_launches_pending(&collector->launches) == 0
        || fd_launches_reached(&collector->launches);
}

/* Divide the time of the GPUs as far as all their kernels are known. */
static void
settle_figures(fd_kernel_collector *collector, uint64_t now)
{
    static const double patience = 2;  /* for kernels of a launch */
    static const double margin = 1e-3; /* in which a launch is noted */
    double hertz = fd_clock_hertz();
    uint64_t before = now - (uint64_t)(margin * hertz);
    if (collector->state == FD_KERNELS_ON) {
        fd_kernel_figures_settle(
            collector->figures,
            fd_launches_seen_until(&collector->launches, before,
                                   (uint64_t)(patience * hertz)));
    }
    else if (!fd_kernels_expected(collector)) {
        fd_kernel_figures_finish(collector->figures, has_all(collector));
    }
}

/* Note the result so far. */
static void
note_collected(fd_kernel_collector *collector)
{
    fd_kernel_figures *figures = collector->figures;
    uint64_t steps = collector->steps;
    fd_buffer text = {.bytes = NULL};
    fd_json_writer w = {.to = &text};
    fd_json_begin_object(&w, NULL);
    fd_json_put_text(&w, "library", collector->cupti.library);
    fd_json_put_u64(&w, "version", collector->cupti.number);
    fd_json_put_u64(&w, "kernels", figures->count);
    fd_json_put_u64(&w, "ns", figures->ns);
    fd_json_put_u64(&w, "unknown", collector->unknown);
    fd_json_put_u64(&w, "busy_steps",
                    steps > FIRST_STEPS ? steps - FIRST_STEPS : 0);
    pthread_mutex_lock(&figures->lock);
    fd_busy_time_write(&figures->busy, &w);
    pthread_mutex_unlock(&figures->lock);
    if (collector->problem[0] != '\0') {
        fd_json_put_text(&w, "problem", collector->problem);
    }
    fd_json_end_object(&w);
    fd_buffer_bytes(&text, "", 1); /* terminating NUL */
    if (text.status == FD_OK) {
        fd_recording_note(figures->recording, "gpu_kernels", text.bytes);
    }
    fd_buffer_clear(&text);
}

/* Note the result when a quarter more time is divided than at the last note:
 * the process may be killed. */
static void
note_progress(fd_kernel_collector *collector)
{
    char number[32];
    uint64_t divided = 0;
    const fd_busy_time *busy = &collector->figures->busy;
    pthread_mutex_lock(&collector->figures->lock);
    for (uint32_t i = 0; i < busy->devices.count; i++) {
        divided += busy->devices.list[i].window;
    }
    pthread_mutex_unlock(&collector->figures->lock);
    if (divided > collector->noted + collector->noted / 4) {
        collector->noted = divided;
        snprintf(number, sizeof number, "%llu",
                 (unsigned long long)collector->steps);
        note_collected(collector);
        fd_recording_note(collector->figures->recording, "gpu_steps", number);
    }
}

/* Read all full buffers, unless the recording ends without this thread. `now`
 * is when they were asked for. */
static void
read_buffers(fd_kernel_collector *collector, uint64_t now)
{
    fd_cupti_buffer *buffer;
    pthread_mutex_lock(&collector->reading);
    while (!collector->stuck
           && (buffer = fd_cupti_buffers_full(&collector->buffers)) != NULL) {
        read_buffer(collector, buffer);
        fd_cupti_buffers_free(buffer);
    }
    if (!collector->stuck) {
        settle_figures(collector, now);
        note_progress(collector);
    }
    if (collector->state != FD_KERNELS_OFF) {
        fd_cupti_buffers_prepare(&collector->buffers);
    }
    pthread_mutex_unlock(&collector->reading);
}

static void
wait_until_asked(fd_kernel_collector *collector)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += READ_EACH_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (collector->state == FD_KERNELS_OFF) {
        sem_wait(&collector->asked);
    }
    else {
        sem_timedwait(&collector->asked, &until);
    }
}

static void *
run_thread(void *argument)
{
    fd_kernel_collector *collector = argument;
    while (!collector->ends) {
        wait_until_asked(collector);
        uint64_t now = fd_clock_ticks();
        if (collector->state != FD_KERNELS_OFF && !collector->ends) {
            collector->cupti.flush(0);
            fd_gpu_health_look(&collector->health, now);
        }
        uint64_t before = collector->launches.seen;
        read_buffers(collector, now);
        if (collector->launches.seen != before) {
            collector->heard = fd_clock_ticks();
        }
    }
    if (collector->state != FD_KERNELS_OFF) {
        collector->cupti.flush(1); /* also of kernels that still run */
    }
    read_buffers(collector, fd_clock_ticks());
    return NULL;
}

/* Start the own thread, which gets no signals of the program. */
static fd_status
start_thread(fd_kernel_collector *collector)
{
    sigset_t all;
    sigset_t before;
    collector->ends = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error =
        pthread_create(&collector->thread, NULL, run_thread, collector);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? FD_OK : FD_ENOMEM;
}

fd_status
fd_kernels_open(fd_kernel_collector **to, fd_recording *recording,
                fd_kernel_running *running, fd_error *error)
{
    fd_cupti cupti;
    fd_status status = fd_cupti_find(&cupti, error);
    if (status != FD_OK) {
        return status;
    }
    fd_kernel_collector *collector = &of_process;
    if (collector->process == 0) {
        collector->process = getpid();
        pthread_mutex_init(&collector->reading, NULL);
        sem_init(&collector->asked, 0, 0);
    }
    if (collector->process != getpid() || collector->stuck
        || collector->figures != NULL) {
        return fd_fail(error, FD_ECONFLICT, "%s is not usable any more",
                       cupti.library);
    }
    collector->figures = fd_malloc(sizeof *collector->figures);
    if (collector->figures == NULL) {
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    fd_kernel_figures_init(collector->figures, recording);
    collector->cupti = cupti;
    fd_graph_nodes_clear(&collector->nodes);
    collector->running = running;
    collector->times_calls = recording->timeline.on;
    collector->unknown = 0;
    collector->steps = 0;
    collector->noted = 0;
    collector->problem[0] = '\0';
    status = start_thread(collector);
    if (status != FD_OK) {
        fd_kernel_figures_clear(collector->figures);
        fd_free(collector->figures);
        collector->figures = NULL;
        return fd_fail(error, status, "no thread for the records of %s",
                       cupti.library);
    }
    *to = collector;
    return FD_OK;
}

fd_status
fd_kernels_probe(fd_cupti *cupti, fd_error *error)
{
    char problem[FD_PROBLEM];
    void *subscriber;
    fd_status status = fd_cupti_find(cupti, error);
    if (status != FD_OK) {
        return status;
    }
    if (!fd_cupti_take(cupti, &functions, &subscriber, problem)) {
        return fd_fail(error, FD_ECONFLICT, "%s", problem);
    }
    fd_cupti_disable(cupti);
    cupti->unsubscribe(subscriber);
    return FD_OK;
}

static void
drop_subscription(fd_kernel_collector *collector)
{
    if (collector->subscriber != NULL) {
        collector->cupti.unsubscribe(collector->subscriber);
        collector->subscriber = NULL;
    }
}

static void
count_unfinished(const fd_kernel_collector *collector)
{
    fd_file_add(&collector->figures->recording->file, FD_COUNT_GPU_UNFINISHED,
                fd_launches_pending(&collector->launches));
}

/* The own thread may read it. */
static void
set_problem(fd_kernel_collector *collector, const char *problem)
{
    pthread_mutex_lock(&collector->reading);
    snprintf(collector->problem, FD_PROBLEM, "%s", problem);
    pthread_mutex_unlock(&collector->reading);
}

bool
fd_kernels_start(fd_kernel_collector *collector, bool taken, int idle_device)
{
    char problem[FD_PROBLEM];
    if (taken) {
        snprintf(problem, FD_PROBLEM, "%s is in use by torch.profiler",
                 collector->cupti.library);
        set_problem(collector, problem);
        return false;
    }
    bool drains = collector->state == FD_KERNELS_DRAINING;
    pthread_mutex_lock(&collector->reading);
    bool whole = has_all(collector);
    fd_cupti_buffers_prepare(&collector->buffers);
    if (!drains) {
        count_unfinished(collector);
    }
    fd_launches_begin(&collector->launches, drains);
    pthread_mutex_unlock(&collector->reading);
    /* Before the first callback. */
    collector->window++;
    collector->state = FD_KERNELS_ON;
    if (!fd_cupti_take(&collector->cupti, &functions, &collector->subscriber,
                       problem)) {
        set_problem(collector, problem);
        collector->state = FD_KERNELS_OFF;
        return false;
    }
    fd_kernel_figures_begin(collector->figures, idle_device, whole);
    sem_post(&collector->asked);
    return true;
}

void
fd_kernels_step(fd_kernel_collector *collector)
{
    if (++collector->steps == FIRST_STEPS) {
        fd_kernel_figures_warm(collector->figures);
    }
}

void
fd_kernels_pause(fd_kernel_collector *collector, bool taken)
{
    if (collector->state == FD_KERNELS_ON) {
        fd_kernel_figures_end(collector->figures);
        drop_subscription(collector);
        collector->paused = fd_clock_ticks();
        collector->heard = collector->paused;
        collector->state = taken ? FD_KERNELS_OFF : FD_KERNELS_DRAINING;
        sem_post(&collector->asked);
    }
}

/* Disable the kinds of records, unless another tool has come: then they are
 * its own. A subscription is the test. */
static void
give_back(fd_kernel_collector *collector, bool taken)
{
    char holder[64];
    collector->state = FD_KERNELS_OFF;
    if (!taken
        && fd_cupti_subscribe(&collector->cupti, &collector->subscriber,
                              note_launch, holder)
               == FD_CUPTI_SUCCESS) {
        fd_cupti_disable(&collector->cupti);
        drop_subscription(collector);
    }
    collector->subscriber = NULL;
}

static bool
is_past(uint64_t tick, double seconds)
{
    return (double)(int64_t)(fd_clock_ticks() - tick)
         > seconds * fd_clock_hertz();
}

/* Launches that were captured into a graph have no kernel. They are what is
 * missing if the latest launch has run and no kernel came for a while. */
bool
fd_kernels_expected(const fd_kernel_collector *collector)
{
    static const double patience = 2;
    static const double silence = 0.05;
    return collector->state == FD_KERNELS_DRAINING
        && fd_launches_pending(&collector->launches) > 0
        && !is_past(collector->paused, patience)
        && !(fd_launches_reached(&collector->launches)
             && is_past(collector->heard, silence));
}

bool
fd_kernels_wait(fd_kernel_collector *collector, int patience_ms)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < patience_ms && fd_kernels_expected(collector); i++) {
        sem_post(&collector->asked);
        nanosleep(&pause, NULL);
    }
    return fd_kernels_expected(collector);
}

void
fd_kernels_settle(fd_kernel_collector *collector, bool taken)
{
    int state = collector->state;
    if (state == FD_KERNELS_ON && taken) {
        fd_kernels_pause(collector, true);
    }
    else if (state == FD_KERNELS_DRAINING
             && (taken || !fd_kernels_expected(collector))) {
        give_back(collector, taken);
    }
    else if (state != FD_KERNELS_OFF) {
        sem_post(&collector->asked);
    }
}

/* End the own thread after its last reading. If it hangs in CUPTI, it must
 * find that there is nothing to do when it returns. */
static void
end_thread(fd_kernel_collector *collector)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLOSING_S;
    collector->ends = true;
    sem_post(&collector->asked);
    if (pthread_timedjoin_np(collector->thread, NULL, &until) != 0) {
        pthread_mutex_lock(&collector->reading);
        collector->stuck = true;
        pthread_mutex_unlock(&collector->reading);
        pthread_detach(collector->thread);
    }
}

/* Count lost records: those that CUPTI had no memory for, and those in the
 * buffer that is not read. */
static void
count_dropped(fd_kernel_collector *collector)
{
    enum { SHORTEST = 88 };
    size_t dropped = 0;
    if (collector->cupti.dropped(NULL, 0, &dropped) == FD_CUPTI_SUCCESS) {
        count_lost(collector, dropped);
    }
    uint64_t bytes = atomic_exchange(&collector->buffers.discarded, 0);
    count_lost(collector, (bytes + SHORTEST - 1) / SHORTEST);
}

void
fd_kernels_close(fd_kernel_collector *collector, bool taken)
{
    if (collector->process == getpid()) {
        fd_kernels_pause(collector, taken);
        end_thread(collector);
        if (collector->state == FD_KERNELS_DRAINING) {
            give_back(collector, taken);
        }
        count_dropped(collector);
        count_unfinished(collector);
        fd_kernel_figures_finish(collector->figures, has_all(collector));
        fd_launches_begin(&collector->launches, false);
        note_collected(collector);
        if (!collector->stuck) {
            fd_gpu_health_close(&collector->health,
                                collector->figures->recording);
        }
        fd_cupti_buffers_shrink(&collector->buffers);
        fd_kernel_figures_clear(collector->figures);
        fd_free(collector->figures);
    }
    collector->figures = NULL;
}
