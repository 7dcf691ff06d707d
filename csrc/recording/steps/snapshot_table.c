#include "recording/steps/snapshot_table.h"

#include "recording/thread_clock.h"

#include <string.h>

enum {
    CHUNK = 8 * 1024, /* 63 snapshots: enough for more than 2^30 steps */
    FIRST_FIGURES = 4 * 1024,
    FIRST_THREADS = 4 * 1024
};

/* Minimum seconds per running thread between two readings of all clocks. A
 * reading is a system call of half a microsecond, in which the scheduler may
 * switch threads, so short steps do not read the clocks each time. */
static const double CLOCK_INTERVAL = 1e-3;

static void
refuse_snapshot(fd_snapshots *snapshots, const fd_file *file)
{
    snapshots->full = true;
    fd_file_count(file, FD_COUNT_SNAPSHOTS_FULL);
}

static bool
is_power_of_two(uint64_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static bool
is_chosen(uint64_t steps)
{
    return is_power_of_two(steps)
        || (steps % 3 == 0 && is_power_of_two(steps / 3));
}

/* Create the table; record 0 is the end of the last step. */
static bool
plant_table(fd_snapshots *snapshots, fd_file *file)
{
    fd_chunk *chunk;
    if (snapshots->records != NULL) {
        return true;
    }
    if (snapshots->full
        || fd_file_chunk(file, FD_CHUNK_SNAPSHOTS, sizeof(fd_snapshot), CHUNK,
                         0, &chunk)
               != FD_OK) {
        return false;
    }
    snapshots->records = fd_chunk_records(chunk);
    snapshots->figures = fd_pool_of(file, FD_CHUNK_SNAPSHOT_FIGURES,
                                    sizeof(fd_snapshot_figure), FIRST_FIGURES);
    snapshots->threads = fd_pool_of(file, FD_CHUNK_SNAPSHOT_THREADS,
                                    sizeof(fd_snapshot_thread), FIRST_THREADS);
    return true;
}

static fd_chunk *
chunk_of(const fd_snapshots *snapshots)
{
    return (fd_chunk *)(void *)((char *)snapshots->records - sizeof(fd_chunk));
}

static FD_READS_RUNNING uint32_t
running_threads(const fd_tree *trees)
{
    uint32_t count = 0;
    for (const fd_tree *tree = trees; tree != NULL; tree = tree->next) {
        count += tree->record->attached != 0;
    }
    return count;
}

static bool
clocks_are_due(const fd_snapshots *snapshots, const fd_recording *recording,
               uint64_t now)
{
    double interval = CLOCK_INTERVAL * running_threads(recording->trees)
                    * fd_file_header(&recording->file)->hertz;
    return (double)(now - snapshots->cpu_read) >= interval;
}

static FD_READS_RUNNING void
mark_thread(fd_tree *tree, bool read_clock, bool timing)
{
    fd_thread_record *record = tree->record;
    uint64_t last = record->last;
    uint64_t attached = record->attached;
    bool running = attached != 0;
    if (read_clock) {
        fd_tree_read_cpu(tree);
    }
    record->step_last = last;
    record->step_covered =
        record->covered + (running && last > attached ? last - attached : 0);
    record->step_cpu = record->cpu;
    record->step_context =
        running && timing ? fd_tree_id(tree, tree->current) : 0;
}

static void
mark_threads(fd_snapshots *snapshots, const fd_recording *recording,
             uint64_t now, bool chosen)
{
    bool timing = fd_file_header(&recording->file)->timing != 0;
    bool all = timing && (chosen || clocks_are_due(snapshots, recording, now));
    if (all) {
        snapshots->cpu_read = now;
    }
    for (fd_tree *tree = recording->trees; tree != NULL; tree = tree->next) {
        mark_thread(tree, all, timing);
    }
}

static fd_snapshot
state_of(const fd_snapshots *snapshots, const fd_tree *tree,
         const fd_step *step)
{
    const fd_file *file = &tree->recording->file;
    const fd_header *header = fd_file_header(file);
    fd_snapshot made = {
        .number = step->number,
        .steps = header->steps,
        .tick = step->end,
        .recorded = header->recorded + (step->end - header->resumed),
        .source = header->steps_source,
        .thread = fd_file_id(file, tree->record),
        .queued = snapshots->queued,
        .memory = snapshots->memory,
    };
    memcpy(made.phases, snapshots->phases, sizeof made.phases);
    return made;
}

static bool
has_changed(const fd_snapshots *snapshots, const fd_spread *spread)
{
    return snapshots->any
             ? spread->last_step > snapshots->latest
             : (spread->self_mark | spread->calls_mark | spread->steps) != 0;
}

static FD_READS_RUNNING bool
add_figure(fd_snapshots *snapshots, uint32_t id, const fd_context *context,
           const fd_spread *spread)
{
    fd_snapshot_figure *figure = fd_pool_reserve(&snapshots->figures, 1);
    if (figure == NULL) {
        return false;
    }
    *figure = (fd_snapshot_figure){
        .context = id,
        .steps = spread->steps,
        .calls = context->calls,
        .resumes = context->resumes,
        .self = spread->self_mark,
        .self_squares = spread->self_squares,
        .total_squares = spread->total_squares,
    };
    fd_pool_publish(&snapshots->figures, 1);
    return true;
}

/* Add every context that was active since the previous snapshot. */
static bool
add_figures(fd_snapshots *snapshots, fd_tree *tree)
{
    for (uint32_t k = 0; k < tree->chunks.count; k++) {
        fd_chunk *hot = tree->chunks.list[k];
        const fd_context *contexts = fd_chunk_records(hot);
        const fd_spread *spreads =
            fd_tree_spreads(&tree->recording->file, hot);
        for (uint32_t i = 0; spreads != NULL && i < hot->used; i++) {
            if (has_changed(snapshots, &spreads[i])
                && !add_figure(snapshots, fd_tree_id(tree, &contexts[i]),
                               &contexts[i], &spreads[i])) {
                return false;
            }
        }
    }
    return true;
}

static bool
add_thread(fd_snapshots *snapshots, const fd_tree *tree)
{
    const fd_thread_record *record = tree->record;
    fd_snapshot_thread *thread = fd_pool_reserve(&snapshots->threads, 1);
    if (thread == NULL) {
        return false;
    }
    *thread = (fd_snapshot_thread){
        .thread = fd_file_id(&tree->recording->file, record),
        .context = record->step_context,
        .last = record->step_last,
        .covered = record->step_covered,
        .cpu = record->step_cpu,
    };
    fd_pool_publish(&snapshots->threads, 1);
    return true;
}

/* Return the size in bytes of the next snapshot of a tree. */
static size_t
size_of(const fd_snapshots *snapshots, const fd_tree *tree)
{
    size_t size = sizeof(fd_snapshot_thread);
    for (uint32_t k = 0; k < tree->chunks.count; k++) {
        fd_chunk *hot = tree->chunks.list[k];
        const fd_spread *spreads =
            fd_tree_spreads(&tree->recording->file, hot);
        for (uint32_t i = 0; spreads != NULL && i < hot->used; i++) {
            size += has_changed(snapshots, &spreads[i])
                      ? sizeof(fd_snapshot_figure)
                      : 0;
        }
    }
    return size;
}

static bool
has_room(const fd_snapshots *snapshots, const fd_recording *recording)
{
    size_t size =
        (size_t)snapshots->figures.count * sizeof(fd_snapshot_figure)
        + (size_t)snapshots->threads.count * sizeof(fd_snapshot_thread);
    for (const fd_tree *tree = recording->trees; tree != NULL;
         tree = tree->next) {
        size += size_of(snapshots, tree);
    }
    return size <= recording->limits.max_snapshots
        && snapshots->count < chunk_of(snapshots)->capacity;
}

static bool
add_all(fd_snapshots *snapshots, const fd_recording *recording)
{
    for (fd_tree *tree = recording->trees; tree != NULL; tree = tree->next) {
        if (!add_thread(snapshots, tree) || !add_figures(snapshots, tree)) {
            return false;
        }
    }
    return true;
}

static void
take_snapshot(fd_snapshots *snapshots, const fd_recording *recording,
              const fd_snapshot *state)
{
    if (snapshots->full || !has_room(snapshots, recording)
        || !add_all(snapshots, recording)) {
        refuse_snapshot(snapshots, &recording->file);
        return;
    }
    fd_snapshot *made = &snapshots->records[snapshots->count++];
    *made = *state;
    made->figures = snapshots->figures.count;
    made->threads = snapshots->threads.count;
    snapshots->any = true;
    snapshots->latest = (uint32_t)state->number;
    atomic_store_explicit(&chunk_of(snapshots)->used, snapshots->count,
                          memory_order_release);
}

static void
set_last(fd_snapshots *snapshots, const fd_snapshot *state)
{
    snapshots->records[0] = *state;
    if (snapshots->count == 0) {
        snapshots->count = 1;
        atomic_store_explicit(&chunk_of(snapshots)->used, 1,
                              memory_order_release);
    }
}

static uint64_t
queued_of(fd_tree *tree)
{
    fd_tree_read_queued(tree);
    return tree->queued_known ? tree->queued : 0;
}

/* No system call separates the count of the step from its record, so a process
 * killed at a system call has both or neither. */
void
fd_snapshots_end(fd_snapshots *snapshots, fd_tree *tree, const fd_step *step)
{
    fd_recording *recording = tree->recording;
    fd_header *header = fd_file_header(&recording->file);
    bool chosen = is_chosen(header->steps + 1);
    bool planted = plant_table(snapshots, &recording->file);
    if (planted) {
        snapshots->memory = chosen ? fd_resident_bytes() : 0;
        snapshots->queued = chosen ? queued_of(tree) : 0;
        mark_threads(snapshots, recording, step->end, chosen);
    }
    header->steps++;
    if (!planted) {
        if (chosen) {
            refuse_snapshot(snapshots, &recording->file);
        }
        return;
    }
    for (int i = 0; i < FD_PHASES; i++) {
        snapshots->phases[i] += step->phases[i];
    }
    fd_snapshot state = state_of(snapshots, tree, step);
    set_last(snapshots, &state);
    if (chosen) {
        take_snapshot(snapshots, recording, &state);
    }
}

void
fd_snapshots_discard(fd_snapshots *snapshots)
{
    memset(snapshots->phases, 0, sizeof snapshots->phases);
    snapshots->any = false;
}
