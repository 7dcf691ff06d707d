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
    fd_gpu_events_init(&figures->events, recording, FD_CHUNK_KERNEL_EVENTS);
    figures->anchor = fd_clock_anchor();
    figures->ticks_per_ns = fd_clock_hertz() / 1e9;
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

static void
add_starved(void *user, uint32_t id, uint64_t idle)
{
    const fd_kernel_figures *figures = user;
    fd_kernel_record *record = fd_file_record(&figures->recording->file, id);
    record->starved += (uint64_t)((double)idle / figures->ticks_per_ns);
}

void
fd_kernel_figures_settle(fd_kernel_figures *figures)
{
    pthread_mutex_lock(&figures->lock);
    fd_busy_time_settle(&figures->busy, add_starved, figures);
    pthread_mutex_unlock(&figures->lock);
}

void
fd_kernel_figures_end(fd_kernel_figures *figures)
{
    figures->window +=
        figures->began == 0 ? 0 : fd_clock_ticks() - figures->began;
    figures->began = 0;
}

void
fd_kernel_figures_begin(fd_kernel_figures *figures)
{
    fd_kernel_figures_settle(figures);
    pthread_mutex_lock(&figures->lock);
    fd_busy_time_begin(&figures->busy);
    figures->began = figures->warm ? fd_clock_ticks() : 0;
    figures->anchor = fd_clock_anchor();
    figures->ticks_per_ns = fd_clock_hertz() / 1e9;
    pthread_mutex_unlock(&figures->lock);
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

/* Return the string "Memcpy HtoD (Pageable -> Device)", as torch.profiler
 * names a copy. */
static uint32_t
copy_name(fd_kernel_figures *figures, const fd_cupti_record *copy)
{
    static const char *const directions[] = {"Unknown", "HtoD", "DtoH", "HtoA",
                                             "AtoH",    "AtoA", "AtoD", "DtoA",
                                             "DtoD",    "HtoH", "PtoP"};
    static const char *const memories[] = {"Unknown", "Pageable", "Pinned",
                                           "Device",  "Array",    "Managed"};
    enum { DIRECTIONS = 11, MEMORIES = 6 };
    char name[64];
    int size = snprintf(name, sizeof name, "Memcpy %s (%s -> %s)",
                        directions[copy->copy < DIRECTIONS ? copy->copy : 0],
                        memories[copy->from < MEMORIES ? copy->from : 0],
                        memories[copy->to < MEMORIES ? copy->to : 0]);
    return text_id(figures, name, (size_t)size);
}

static uint32_t
name_of(fd_kernel_figures *figures, const fd_cupti_record *kernel)
{
    switch (kernel->kind) {
    case FD_CUPTI_COPY:
        return copy_name(figures, kernel);
    case FD_CUPTI_FILL:
        return text_id(figures, "Memset", 6);
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

/* Return the record of a kernel, or NULL if there is no space. */
static fd_kernel_record *
record_of(fd_kernel_figures *figures, const fd_cupti_record *kernel,
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
    uint64_t hash = hash_of(&key);
    fd_kernel_record *record = find_record(figures, &key, hash);
    if (record == NULL) {
        record = append_record(figures, &key, hash);
    }
    pthread_mutex_unlock(&recording->lock);
    return record;
}

void
fd_kernel_figures_warm(fd_kernel_figures *figures)
{
    pthread_mutex_lock(&figures->lock);
    figures->warm = true;
    figures->warmed = fd_clock_ticks();
    figures->began = figures->warmed;
    pthread_mutex_unlock(&figures->lock);
}

/* Convert a time of CUPTI. */
static uint64_t
tick_of(const fd_kernel_figures *figures, uint64_t ns)
{
    double after = (double)(int64_t)(ns - figures->anchor.realtime_ns);
    return figures->anchor.ticks
         + (uint64_t)(int64_t)(after * figures->ticks_per_ns);
}

static void
add_event(fd_kernel_figures *figures, const fd_kernel_sample *kernel,
          const fd_kernel_record *record)
{
    uint64_t start = tick_of(figures, kernel->record.start);
    uint64_t host = kernel->launched;
    fd_gpu_event event = {
        .host = host != 0 && host < start ? host : start,
        .start = start,
        .ticks = tick_of(figures, kernel->record.end) - start,
        .context = record->context,
        .device = (uint16_t)record->device,
        .stream = (uint16_t)record->stream,
        .name = record->name,
    };
    fd_gpu_events_add(&figures->events, &event);
}

/* Add the kernel to the time in which the GPU is busy. */
static void
add_busy(fd_kernel_figures *figures, const fd_kernel_sample *kernel,
         const fd_kernel_record *record)
{
    fd_busy_kernel busy = {
        .start = tick_of(figures, kernel->record.start),
        .end = tick_of(figures, kernel->record.end),
        .launched = kernel->launched,
        .device = record->device,
        .id = fd_file_id(&figures->recording->file, record),
    };
    bool counts = figures->warm
               && (busy.launched != 0 ? busy.launched : busy.start)
                      >= figures->warmed;
    if (counts && fd_busy_time_add(&figures->busy, &busy)) {
        fd_busy_time_settle(&figures->busy, add_starved, figures);
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
    pthread_mutex_lock(&figures->lock);
    fd_kernel_record *record =
        timed ? record_of(figures, from, kernel->launcher.context) : NULL;
    if (record != NULL) {
        record->count++;
        record->ns += from->end - from->start;
        record->bytes += from->bytes;
        figures->count++;
        figures->ns += from->end - from->start;
        add_event(figures, kernel, record);
        add_busy(figures, kernel, record);
    }
    if (record != NULL && kernel->launcher.call != 0) {
        set_call(figures, kernel);
    }
    pthread_mutex_unlock(&figures->lock);
    if (record == NULL) {
        fd_file_count(&figures->recording->file, FD_COUNT_GPU_LOST);
    }
}
