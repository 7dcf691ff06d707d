#include "gpu/kernel_figures.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_CHUNK = 16 * 1024, LONGEST_NAME = 16 * 1024 };

void
fd_kernel_figures_init(fd_kernel_figures *figures, fd_recording *recording)
{
    *figures = (fd_kernel_figures){.recording = recording};
    pthread_mutex_init(&figures->lock, NULL);
    figures->pool = fd_pool_of(&recording->file, FD_CHUNK_KERNELS,
                               sizeof(fd_kernel_record), FIRST_CHUNK);
    fd_gpu_events_init(&figures->events, recording, FD_CHUNK_KERNEL_EVENTS,
                       sizeof(fd_kernel_event));
    figures->anchor = fd_clock_anchor();
    figures->ticks_per_ns = fd_clock_hertz() / 1e9;
    figures->busy = (fd_busy_time){.counted = UINT64_MAX};
}

void
fd_kernel_figures_clear(fd_kernel_figures *figures)
{
    pthread_mutex_destroy(&figures->lock);
    fd_index_clear(&figures->index);
    fd_map_clear(&figures->names);
    fd_gpu_events_clear(&figures->events);
    fd_busy_time_clear(&figures->busy);
}

/* The caller holds the recording's lock, as for the functions below. */
static uint32_t
text_id(fd_kernel_figures *figures, const char *text, size_t size)
{
    return fd_strings_add(&figures->recording->strings, text, size);
}

/* Return the string of a kernel's name. An address that CUPTI has used again
 * for another name is noticed by comparison. */
static uint32_t
kernel_name(fd_kernel_figures *figures, const char *name)
{
    const fd_file *file = &figures->recording->file;
    if (name == NULL || name[0] == '\0') {
        return text_id(figures, "<unnamed>", 9);
    }
    uint32_t id = fd_map_get(&figures->names, (uintptr_t)name);
    size_t size = strnlen(name, LONGEST_NAME);
    if (id != 0 && fd_strings_get(file, id)->size == size
        && memcmp(fd_strings_text(file, id), name, size) == 0) {
        return id;
    }
    id = text_id(figures, name, size);
    if (id != 0) {
        /* A failure is harmless: it is a cache. */
        fd_map_put(&figures->names, (uintptr_t)name, id);
    }
    return id;
}

/* Return the name of a kind of memory, as torch.profiler does. */
static const char *
memory_name(uint8_t kind)
{
    static const char *const memories[] = {
        "Unknown", "Pageable", "Pinned",        "Device",
        "Array",   "Managed",  "Device Static", "Managed Static"};
    return memories[kind < sizeof memories / sizeof *memories ? kind : 0];
}

/* Return the string "Memcpy HtoD (Pageable -> Device)", as torch.profiler
 * names a copy. */
static uint32_t
copy_name(fd_kernel_figures *figures, const fd_cupti_record *copy)
{
    static const char *const directions[] = {"Unknown", "HtoD", "DtoH", "HtoA",
                                             "AtoH",    "AtoA", "AtoD", "DtoA",
                                             "DtoD",    "HtoH", "PtoP"};
    enum { DIRECTIONS = 11 };
    char name[64];
    int size = snprintf(name, sizeof name, "Memcpy %s (%s -> %s)",
                        directions[copy->copy < DIRECTIONS ? copy->copy : 0],
                        memory_name(copy->from), memory_name(copy->to));
    return text_id(figures, name, (size_t)size);
}

/* Return the string "Memset (Device)". */
static uint32_t
fill_name(fd_kernel_figures *figures, const fd_cupti_record *fill)
{
    char name[64];
    int size =
        snprintf(name, sizeof name, "Memset (%s)", memory_name(fill->to));
    return text_id(figures, name, (size_t)size);
}

static uint32_t
name_of(fd_kernel_figures *figures, const fd_cupti_record *kernel)
{
    switch (kernel->kind) {
    case FD_CUPTI_COPY:
        return copy_name(figures, kernel);
    case FD_CUPTI_FILL:
        return fill_name(figures, kernel);
    default:
        return kernel_name(figures, kernel->name);
    }
}

static uint64_t
hash_of(const fd_kernel_record *key)
{
    uint64_t hash = fd_hash_word((uint64_t)key->context << 32 | key->name);
    return fd_hash_word(hash ^ ((uint64_t)key->device << 32 | key->stream));
}

static fd_kernel_record *
find_record(const fd_kernel_figures *figures, const fd_kernel_record *key,
            uint64_t hash)
{
    fd_probe probe = fd_index_probe(&figures->index, hash);
    uint32_t id;
    while ((id = fd_index_next(&figures->index, &probe)) != 0) {
        fd_kernel_record *record =
            fd_file_record(&figures->recording->file, id);
        if (record->context == key->context && record->name == key->name
            && record->device == key->device
            && record->stream == key->stream) {
            return record;
        }
    }
    return NULL;
}

static fd_kernel_record *
append_record(fd_kernel_figures *figures, const fd_kernel_record *key,
              uint64_t hash)
{
    fd_kernel_record *record = fd_pool_reserve(&figures->pool, 1);
    if (record == NULL
        || fd_index_add(&figures->index, hash,
                        fd_file_id(&figures->recording->file, record))
               != FD_OK) {
        return NULL;
    }
    *record = *key;
    fd_pool_publish(&figures->pool, 1);
    return record;
}

/* Return the record with a key, or NULL if there is no space. The caller holds
 * the recording's lock. */
static fd_kernel_record *
record_of(fd_kernel_figures *figures, const fd_kernel_record *key)
{
    uint64_t hash = hash_of(key);
    fd_kernel_record *record = find_record(figures, key, hash);
    return record != NULL ? record : append_record(figures, key, hash);
}

static fd_kernel_record *
kernel_record(fd_kernel_figures *figures, const fd_cupti_record *kernel,
              uint32_t context)
{
    fd_recording *recording = figures->recording;
    pthread_mutex_lock(&recording->lock);
    fd_kernel_record key = {
        .context = context,
        .name = name_of(figures, kernel),
        .kind = (uint8_t)(kernel->kind == FD_CUPTI_COPY   ? FD_KERNEL_COPY
                          : kernel->kind == FD_CUPTI_FILL ? FD_KERNEL_FILL
                                                          : FD_KERNEL_KERNEL),
        .copy = kernel->copy,
        .device = kernel->device,
        .stream = kernel->stream,
    };
    fd_kernel_record *record = record_of(figures, &key);
    pthread_mutex_unlock(&recording->lock);
    return record;
}

/* Convert a time of CUPTI. */
static uint64_t
tick_of(const fd_kernel_figures *figures, uint64_t ns)
{
    double after = (double)(int64_t)(ns - figures->anchor.realtime_ns);
    return figures->anchor.ticks
         + (uint64_t)(int64_t)(after * figures->ticks_per_ns);
}

/* Convert a tick to a time of CUPTI. */
static uint64_t
ns_of(const fd_kernel_figures *figures, uint64_t tick)
{
    double after = (double)(int64_t)(tick - figures->anchor.ticks);
    return figures->anchor.realtime_ns
         + (uint64_t)(int64_t)(after / figures->ticks_per_ns);
}

static void
add_event(fd_kernel_figures *figures, const fd_kernel_sample *kernel,
          const fd_kernel_record *record)
{
    uint64_t start = tick_of(figures, kernel->record.start);
    uint64_t host = kernel->launched;
    fd_kernel_event event = {
        .start = start,
        .ticks = tick_of(figures, kernel->record.end) - start,
        .host = host != 0 && host < start ? host : start,
        .bytes = kernel->record.bytes,
        .call_ticks = kernel->launcher.ticks,
        .function = kernel->launcher.function,
        .correlation = kernel->record.correlation,
        .context = record->context,
        .launcher = kernel->launcher.context,
        .name = record->name,
        .stream = record->stream,
        .device = (uint16_t)record->device,
    };
    fd_gpu_events_add(&figures->events, &event);
}

/* Return whether a kernel belongs to a library that communicates. Inductor
 * names kernels after everything that is computed in them. */
static bool
is_communication(const char *name)
{
    static const char *const libraries[] = {"nccl", "nvshmem", "mscclpp",
                                            "cross_device_reduce"};
    bool found = false;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        found |= strstr(name, libraries[i]) != NULL;
    }
    return found && strncmp(name, "triton_", 7) != 0;
}

static fd_gpu_use
use_of(const fd_cupti_record *kernel)
{
    if (kernel->kind != FD_CUPTI_KERNEL) {
        return FD_USE_COPY;
    }
    return kernel->name != NULL && is_communication(kernel->name)
             ? FD_USE_COMMUNICATION
             : FD_USE_COMPUTE;
}

/* Add the kernel to the time in which its GPU is busy. */
static void
add_busy(fd_kernel_figures *figures, const fd_kernel_sample *kernel,
         fd_gpu_use use)
{
    const fd_cupti_record *from = &kernel->record;
    bool known = kernel->launched != 0 && kernel->launcher.log != 0;
    fd_busy_kernel busy = {
        .start = from->start,
        .end = from->end,
        .launched = known ? ns_of(figures, kernel->launched) : 0,
        .device = from->device,
        .stream = from->stream,
        .use = use,
        .log = kernel->launcher.log,
    };
    if (fd_busy_time_add(&figures->busy, &busy)) {
        fd_busy_time_settle(&figures->busy, UINT64_MAX);
    }
}

/* Set the GPU time of the call that launched the kernel: from its first kernel
 * to its last. No other thread writes these fields. */
static void
set_call(const fd_kernel_figures *figures, const fd_kernel_sample *kernel)
{
    fd_op_call *call =
        fd_file_record(&figures->recording->file, kernel->launcher.call);
    uint64_t start = tick_of(figures, kernel->record.start);
    uint64_t end = tick_of(figures, kernel->record.end);
    if (call->gpu_stream == 0) {
        call->gpu_launch = kernel->launched;
        call->gpu_start = start;
        call->gpu_ticks = end - start;
        call->gpu_device = (uint16_t)kernel->record.device;
    }
    else if (end > call->gpu_start + call->gpu_ticks) {
        call->gpu_ticks = end - call->gpu_start;
    }
    atomic_store_explicit(&call->gpu_stream,
                          (uint16_t)(kernel->record.stream + 1),
                          memory_order_release);
}

void
fd_kernel_figures_add(fd_kernel_figures *figures,
                      const fd_kernel_sample *kernel)
{
    const fd_cupti_record *from = &kernel->record;
    bool timed = from->start != 0 && from->end >= from->start;
    uint32_t context =
        kernel->captured != 0 ? kernel->captured : kernel->launcher.context;
    pthread_mutex_lock(&figures->lock);
    fd_kernel_record *record =
        timed ? kernel_record(figures, from, context) : NULL;
    if (record != NULL) {
        record->count++;
        record->ns += from->end - from->start;
        record->bytes += from->bytes;
        figures->count++;
        figures->ns += from->end - from->start;
        add_event(figures, kernel, record);
        add_busy(figures, kernel, use_of(from));
    }
    if (record != NULL && kernel->launcher.call != 0) {
        set_call(figures, kernel);
    }
    pthread_mutex_unlock(&figures->lock);
    if (record == NULL) {
        fd_file_count(&figures->recording->file, FD_COUNT_GPU_LOST);
    }
}

void
fd_kernel_figures_skip(fd_kernel_figures *figures,
                       const fd_cupti_record *kernel)
{
    fd_kernel_sample sample = {.record = *kernel};
    if (kernel->start != 0 && kernel->end >= kernel->start) {
        pthread_mutex_lock(&figures->lock);
        add_busy(figures, &sample, FD_USE_OUTSIDE);
        pthread_mutex_unlock(&figures->lock);
    }
}

/* Idle time that is divided among call paths. */
typedef struct late_time {
    fd_kernel_figures *figures;
    uint32_t device;
    uint32_t root;        /* of the launching thread */
    fd_running_log *main; /* NULL: this is its time */
    uint64_t end_tick;
    uint64_t end;            /* in ns, like the next two */
    uint64_t done;           /* the time before it is divided */
    uint64_t known;          /* sum with a call path */
    fd_kernel_record *first; /* of the call path in which it began */
} late_time;

/* Add idle time to a call path. Return NULL if there is no space. */
static fd_kernel_record *
add_idle(fd_kernel_figures *figures, uint32_t context, uint32_t device,
         uint64_t ns)
{
    fd_kernel_record key = {
        .context = context, .device = device, .kind = FD_KERNEL_IDLE};
    pthread_mutex_lock(&figures->recording->lock);
    fd_kernel_record *record = record_of(figures, &key);
    pthread_mutex_unlock(&figures->recording->lock);
    if (record != NULL) {
        record->count++;
        record->ns += ns;
    }
    return record;
}

/* A thread that runs nothing waits for the one that runs the steps. */
static void
charge_part(void *user, uint32_t context, uint64_t from, uint64_t to)
{
    late_time *late = user;
    if (context == late->root && late->main != NULL) {
        fd_running_log *main = late->main;
        late->main = NULL;
        fd_running_log_replay(main, from, to, charge_part, late);
        late->main = main;
        return;
    }
    uint64_t until =
        to == late->end_tick ? late->end : ns_of(late->figures, to);
    until = until < late->end ? until : late->end;
    uint64_t ns = until > late->done ? until - late->done : 0;
    late->done += ns;
    if (context == 0 || ns == 0) {
        return;
    }
    fd_kernel_record *record =
        add_idle(late->figures, context, late->device, ns);
    late->first = late->first != NULL ? late->first : record;
    late->known += record != NULL ? ns : 0;
}

/* Divide idle time among the call paths of the launching thread, or without
 * one, of the thread that runs the steps. */
static uint64_t
divide_late(void *user, uint32_t device, uint32_t log, uint64_t from,
            uint64_t to)
{
    fd_kernel_figures *figures = user;
    fd_running_log *main = figures->main;
    fd_running_log *of_thread = log != 0 ? figures->logs[log - 1] : main;
    late_time late = {.figures = figures,
                      .device = device,
                      .end_tick = tick_of(figures, to),
                      .end = to,
                      .done = from};
    if (of_thread == NULL) {
        return 0;
    }
    if (of_thread != main) {
        late.root = of_thread->root;
        late.main = main;
    }
    fd_running_log_replay(of_thread, tick_of(figures, from), late.end_tick,
                          charge_part, &late);
    if (late.first != NULL) {
        late.first->bytes += late.known;
    }
    return late.known;
}

/* The drift of the clocks is small for a second. */
static void
take_anchor(fd_kernel_figures *figures)
{
    uint64_t now = fd_clock_ticks();
    if ((double)(now - figures->anchor.ticks) > figures->ticks_per_ns * 1e9) {
        figures->anchor = fd_clock_anchor();
        figures->ticks_per_ns = fd_clock_hertz() / 1e9;
    }
}

/* Return the tick, or an earlier one up to which it is known what the thread
 * ran that runs the steps. */
static uint64_t
known_until(const fd_kernel_figures *figures, uint64_t tick)
{
    const fd_running_log *main = figures->main;
    uint64_t known = main != NULL ? fd_running_log_until(main, tick) : tick;
    return known < tick ? known : tick;
}

/* The caller holds the lock. */
static void
finish_window(fd_kernel_figures *figures, bool whole)
{
    if (figures->open) {
        uint64_t ended = figures->ended;
        ended = known_until(figures, ended != 0 ? ended : fd_clock_ticks());
        fd_busy_time_end(&figures->busy, whole ? ns_of(figures, ended) : 0);
        figures->open = false;
    }
}

void
fd_kernel_figures_settle(fd_kernel_figures *figures, uint64_t until)
{
    pthread_mutex_lock(&figures->lock);
    until = known_until(figures, until);
    fd_busy_time_settle(&figures->busy, ns_of(figures, until));
    take_anchor(figures);
    pthread_mutex_unlock(&figures->lock);
}

void
fd_kernel_figures_finish(fd_kernel_figures *figures, bool whole)
{
    pthread_mutex_lock(&figures->lock);
    finish_window(figures, whole);
    pthread_mutex_unlock(&figures->lock);
}

void
fd_kernel_figures_begin(fd_kernel_figures *figures, int idle_device,
                        bool whole)
{
    uint64_t now = fd_clock_ticks();
    pthread_mutex_lock(&figures->lock);
    finish_window(figures, whole);
    take_anchor(figures);
    figures->busy.late = divide_late;
    figures->busy.user = figures;
    fd_busy_time_begin(&figures->busy,
                       idle_device >= 0 ? ns_of(figures, now) : 0,
                       (uint32_t)idle_device);
    figures->open = true;
    figures->ended = 0;
    pthread_mutex_unlock(&figures->lock);
}

void
fd_kernel_figures_end(fd_kernel_figures *figures)
{
    figures->ended = fd_clock_ticks();
}

void
fd_kernel_figures_warm(fd_kernel_figures *figures)
{
    pthread_mutex_lock(&figures->lock);
    figures->busy.counted = ns_of(figures, fd_clock_ticks());
    pthread_mutex_unlock(&figures->lock);
}

void
fd_kernel_figures_watch(fd_kernel_figures *figures, fd_running_log *log)
{
    uint32_t number = figures->log_count++;
    if (number < FD_RUNNING_LOGS) {
        figures->logs[number] = log;
        log->number = number + 1;
    }
}
