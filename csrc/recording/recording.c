#include "recording/recording.h"

#include "base/alloc.h"
#include "base/buffer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    THREAD_CHUNK = 4 * 1024,
    META_CHUNK = 4 * 1024,
    MEGABYTE = 1024 * 1024
};

/* Three quarters are for the file, the rest for its indexes in memory and the
 * rings of forward numbers. A context uses 128 bytes of the file. */
fd_limits
fd_limits_of(size_t max_mb)
{
    size_t bytes = max_mb * MEGABYTE / 4 * 3;
    size_t contexts = bytes / 3 * 2 / (sizeof(fd_context) + sizeof(fd_spread));
    size_t scale = contexts < 256 * 1024 ? contexts : 256 * 1024;
    return (fd_limits){
        .max_bytes = bytes,
        .max_strings = (uint32_t)(scale * 64),
        .max_nodes = (uint32_t)(scale / 4),
        .max_modules = (uint32_t)(scale / 4),
        .max_contexts = (uint32_t)contexts,
        .max_events = bytes / 2,
        .max_jobs = bytes / 8,
        .max_op_calls = bytes / 2,
        .max_snapshots = bytes / 8,
        .max_measures = bytes / 8,
    };
}

static void
identify_recording(fd_header *header)
{
    if (getrandom(header->id, sizeof header->id, 0)
        != (ssize_t)sizeof header->id) {
        fd_anchor now = fd_clock_anchor();
        memcpy(header->id, &now.realtime_ns, sizeof now.realtime_ns);
        memcpy(header->id + 8, &header->pid, sizeof header->pid);
    }
}

static uint32_t
special_node(fd_recording *recording, const char *name)
{
    fd_node_spec spec = {.kind = FD_NODE_OVERFLOW, .name = name};
    return fd_nodes_add(&recording->nodes, &spec, NULL);
}

/* Create the first records. The step ring is one chunk, so that a step never
 * allocates. */
static fd_status
plant_records(fd_recording *recording)
{
    fd_chunk *chunk;
    fd_status status = fd_file_chunk(
        &recording->file, FD_CHUNK_STEPS, sizeof(fd_step),
        sizeof(fd_chunk) + FD_STEPS_KEPT * sizeof(fd_step), 0, &chunk);
    if (status != FD_OK) {
        return status;
    }
    chunk->capacity = FD_STEPS_KEPT;
    chunk->used = FD_STEPS_KEPT;
    recording->steps = fd_chunk_records(chunk);
    recording->folded_node = special_node(recording, "<folded>");
    recording->overflow_node = special_node(recording, "<overflow>");
    return recording->overflow_node != 0 ? FD_OK : FD_EFULL;
}

static void
make_tables(fd_recording *made)
{
    fd_file *file = &made->file;
    const fd_limits *limits = &made->limits;
    fd_strings_init(&made->strings, file, limits->max_strings);
    fd_nodes_init(&made->nodes, file, &made->strings, limits->max_nodes);
    fd_modules_init(&made->modules, file, &made->strings, limits->max_modules);
    made->threads = fd_pool_of(file, FD_CHUNK_THREADS,
                               sizeof(fd_thread_record), THREAD_CHUNK);
    made->meta = fd_pool_of(file, FD_CHUNK_META, sizeof(fd_meta), META_CHUNK);
    made->schemas =
        fd_pool_of(file, FD_CHUNK_SCHEMAS, sizeof(fd_schema), META_CHUNK);
}

/* Write all that must be in the file before it is published. */
static fd_status
fill_recording(fd_recording *made, fd_error *error)
{
    make_tables(made);
    identify_recording(fd_file_header(&made->file));
    fd_clock_identify_boot(fd_file_header(&made->file)->boot_id);
    fd_status status = plant_records(made);
    return status == FD_OK
             ? fd_file_publish(&made->file, error)
             : fd_fail(error, status, "%s: %s",
                       made->file.path != NULL ? made->file.path : "memory",
                       fd_status_name(status));
}

fd_status
fd_recording_open_in(fd_recording **recording, const fd_folder *folder,
                     const char *name, const fd_limits *limits,
                     fd_error *error)
{
    fd_recording *made = fd_calloc(1, sizeof *made);
    if (made == NULL) {
        return fd_fail(error, FD_ENOMEM, "out of memory");
    }
    fd_status status =
        fd_file_begin(&made->file, folder, name, limits->max_bytes, error);
    if (status != FD_OK) {
        fd_free(made);
        return status;
    }
    made->limits = *limits;
    made->timeline.max_bytes = limits->max_events;
    pthread_mutex_init(&made->lock, NULL);
    status = fill_recording(made, error);
    if (status != FD_OK) {
        fd_recording_free(made);
        return status;
    }
    *recording = made;
    return FD_OK;
}

fd_status
fd_recording_open(fd_recording **recording, const char *path,
                  const fd_limits *limits, fd_error *error)
{
    fd_folder folder = {.fd = -1};
    const char *name = NULL;
    fd_status status = path != NULL
                         ? fd_folder_of(&folder, path, &name, "create", error)
                         : FD_OK;
    fd_then(status,
            fd_recording_open_in(recording, &folder, name, limits, error));
    fd_folder_close(&folder);
    return status;
}

void
fd_recording_plan(fd_recording *recording, const fd_timeline *timeline)
{
    recording->timeline = *timeline;
    recording->timeline.max_bytes = recording->limits.max_events;
}

static fd_file_anchor
anchor_now(void)
{
    fd_anchor now = fd_clock_anchor();
    return (fd_file_anchor){now.ticks, now.monotonic_ns, now.realtime_ns,
                            now.boottime_ns};
}

void
fd_recording_resume(fd_recording *recording)
{
    fd_header *header = fd_file_header(&recording->file);
    if (header->start.ticks == 0) {
        header->start = anchor_now();
    }
    header->hertz = fd_clock_hertz();
    header->resumed = fd_clock_ticks();
    header->state = FD_STATE_RUNNING;
}

static void
settle_all(fd_recording *recording, uint64_t now)
{
    pthread_mutex_lock(&recording->lock);
    for (fd_tree *tree = recording->trees; tree != NULL; tree = tree->next) {
        fd_tree_settle(tree, now);
    }
    pthread_mutex_unlock(&recording->lock);
}

void
fd_recording_watch(fd_recording *recording)
{
    pthread_mutex_lock(&recording->lock);
    for (fd_tree *tree = recording->trees; tree != NULL; tree = tree->next) {
        if (tree->record->running == FD_THREAD_RUNS) {
            tree->record->running = FD_THREAD_WATCHED;
        }
    }
    pthread_mutex_unlock(&recording->lock);
}

void
fd_recording_pause(fd_recording *recording, bool settle)
{
    fd_header *header = fd_file_header(&recording->file);
    uint64_t now = fd_clock_ticks();
    if (header->state == FD_STATE_RUNNING) {
        if (settle) {
            settle_all(recording, now);
        }
        header->recorded += now - header->resumed;
        header->resumed = 0;
    }
    header->hertz = fd_clock_hertz();
    header->state = FD_STATE_PAUSED;
}

void
fd_recording_stop(fd_recording *recording, bool settle)
{
    fd_recording_pause(recording, settle);
    fd_header *header = fd_file_header(&recording->file);
    header->stop = anchor_now();
    header->state = FD_STATE_STOPPED;
}

void
fd_recording_detach(fd_recording *recording)
{
    fd_file_detach(&recording->file);
}

void
fd_recording_free(fd_recording *recording)
{
    while (recording->trees != NULL) {
        fd_tree *tree = recording->trees;
        recording->trees = tree->next;
        fd_tree_free(tree);
    }
    fd_strings_clear(&recording->strings);
    fd_nodes_clear(&recording->nodes);
    fd_modules_clear(&recording->modules);
    fd_file_clear(&recording->file);
    pthread_mutex_destroy(&recording->lock);
    fd_free(recording);
}
