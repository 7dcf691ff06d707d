#include "gpu/gpu_figures.h"

enum { FIRST_CHUNK = 4 * 1024 };

void
fd_gpu_figures_init(fd_gpu_figures *figures, fd_recording *recording)
{
    *figures = (fd_gpu_figures){.recording = recording};
    pthread_mutex_init(&figures->lock, NULL);
    figures->pool = fd_pool_of(&recording->file, FD_CHUNK_GPU,
                               sizeof(fd_gpu_record), FIRST_CHUNK);
    figures->events = (fd_event_ring){.kind = FD_CHUNK_GPU_EVENTS,
                                      .record_bytes = sizeof(fd_gpu_event)};
}

void
fd_gpu_figures_clear(fd_gpu_figures *figures)
{
    pthread_mutex_destroy(&figures->lock);
    fd_event_ring_clear(&figures->events);
    fd_map_clear(&figures->records);
}

/* Append a record. The caller holds both locks. */
static fd_gpu_record *
append_record(fd_gpu_figures *figures, uint32_t context)
{
    fd_gpu_record *record = fd_pool_reserve(&figures->pool, 1);
    if (record == NULL) {
        return NULL;
    }
    uint32_t id = fd_file_id(&figures->recording->file, record);
    if (fd_map_put(&figures->records, context, id) != FD_OK) {
        return NULL;
    }
    *record = (fd_gpu_record){.context = context};
    fd_pool_publish(&figures->pool, 1);
    return record;
}

/* Return the record of a context, or NULL and count it if there is no
 * space. */
static fd_gpu_record *
record_of(fd_gpu_figures *figures, uint32_t context)
{
    fd_recording *recording = figures->recording;
    uint32_t id = fd_map_get(&figures->records, context);
    if (id != 0) {
        return fd_file_record(&recording->file, id);
    }
    pthread_mutex_lock(&recording->lock);
    fd_gpu_record *record = append_record(figures, context);
    pthread_mutex_unlock(&recording->lock);
    if (record == NULL) {
        fd_file_count(&recording->file, FD_COUNT_GPU_LOST);
    }
    return record;
}

/* Return space for an event; intervals and calls share the limit of the
 * timeline. The caller holds the recording's lock. */
static fd_gpu_event *
room_for_event(fd_gpu_figures *figures)
{
    fd_recording *recording = figures->recording;
    const fd_chunk *chunk = figures->chunk;
    uint32_t lost = 0;
    if (!figures->full && (chunk == NULL || chunk->used == chunk->capacity)) {
        figures->chunk =
            fd_event_ring_next(&figures->events, &recording->timeline,
                               &recording->file, figures->ended, &lost);
        figures->full = figures->chunk == NULL;
    }
    fd_file_add(&recording->file, FD_COUNT_GPU_EVENTS_LOST, lost);
    return figures->full ? NULL
                         : (fd_gpu_event *)fd_chunk_records(figures->chunk)
                               + figures->chunk->used;
}

static void
add_event(fd_gpu_figures *figures, const fd_gpu_event *event)
{
    fd_recording *recording = figures->recording;
    pthread_mutex_lock(&recording->lock);
    fd_gpu_event *to = room_for_event(figures);
    figures->ended++;
    if (to != NULL) {
        *to = *event;
        atomic_store_explicit(&figures->chunk->used, figures->chunk->used + 1,
                              memory_order_release);
    }
    pthread_mutex_unlock(&recording->lock);
    if (to == NULL) {
        fd_file_count(&recording->file, FD_COUNT_GPU_EVENTS_LOST);
    }
}

/* Set the GPU time of a call. No other thread writes these fields, even if the
 * call ended long ago. */
static void
set_call(const fd_gpu_figures *figures, const fd_gpu_sample *sample)
{
    const fd_gpu_event *event = &sample->event;
    fd_op_call *call = fd_file_record(&figures->recording->file, sample->call);
    call->gpu_launch = event->host;
    call->gpu_start = event->start;
    call->gpu_ticks = event->ticks;
    call->gpu_device = event->device;
    atomic_store_explicit(&call->gpu_stream, (uint16_t)(event->stream + 1),
                          memory_order_release);
}

void
fd_gpu_figures_add(fd_gpu_figures *figures, const fd_gpu_sample *sample)
{
    pthread_mutex_lock(&figures->lock);
    fd_gpu_record *record = record_of(figures, sample->event.context);
    if (record != NULL) {
        record->calls++;
        record->total += sample->total;
        record->self += sample->self;
        record->launch_bound += sample->launch_bound;
    }
    if (figures->recording->timeline.on) {
        add_event(figures, &sample->event);
    }
    if (sample->call != 0) {
        set_call(figures, sample);
    }
    pthread_mutex_unlock(&figures->lock);
}

void
fd_gpu_figures_starve(fd_gpu_figures *figures, uint32_t context, uint64_t ns)
{
    pthread_mutex_lock(&figures->lock);
    fd_gpu_record *record = record_of(figures, context);
    if (record != NULL) {
        record->starved += ns;
    }
    pthread_mutex_unlock(&figures->lock);
}
