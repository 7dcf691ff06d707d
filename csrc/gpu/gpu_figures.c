#include "gpu/gpu_figures.h"

enum { FIRST_CHUNK = 4 * 1024 };

void
fd_gpu_figures_init(fd_gpu_figures *figures, fd_recording *recording)
{
    *figures = (fd_gpu_figures){.recording = recording};
    pthread_mutex_init(&figures->lock, NULL);
    figures->pool = fd_pool_of(&recording->file, FD_CHUNK_GPU,
                               sizeof(fd_gpu_record), FIRST_CHUNK);
    fd_gpu_events_init(&figures->events, recording, FD_CHUNK_GPU_EVENTS,
                       sizeof(fd_gpu_event));
}

void
fd_gpu_figures_clear(fd_gpu_figures *figures)
{
    pthread_mutex_destroy(&figures->lock);
    fd_gpu_events_clear(&figures->events);
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
    fd_gpu_events_add(&figures->events, &sample->event);
    pthread_mutex_unlock(&figures->lock);
}
