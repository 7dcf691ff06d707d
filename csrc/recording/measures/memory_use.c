#include "recording/measures/memory_use.h"

#include "base/alloc.h"
#include "recording/measures/measure_table.h"

#include <stdatomic.h>
#include <stdio.h>

fd_status
fd_memory_init(fd_memory_use *use, fd_recording *recording)
{
    use->recording = recording;
    use->capacity =
        (uint32_t)(recording->limits.max_measures / sizeof(fd_measure));
    use->records = fd_calloc(use->capacity, sizeof *use->records);
    fd_status status =
        use->records == NULL ? FD_ENOMEM : fd_blocks_init(&use->blocks);
    if (status != FD_OK) {
        fd_memory_clear(use);
    }
    return status;
}

void
fd_memory_clear(fd_memory_use *use)
{
    fd_blocks_clear(&use->blocks);
    fd_free(use->records);
    use->records = NULL;
    use->capacity = 0;
}

/* Replace both words atomically if they equal `old`. Return whether they
 * did. */
static bool
exchange_level(fd_memory_level *level, fd_memory_level old,
               fd_memory_level new)
{
#if defined(__x86_64__)
    bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*level), "+a"(old.live),
                       "+d"(old.peak)
                     : "b"(new.live), "c"(new.peak)
                     : "memory");
    return done;
#elif defined(__aarch64__)
    /* One statement: a store between the two exclusive accesses would lose the
     * reservation. */
    fd_memory_level found;
    uint32_t failed;
    __asm__ volatile(
        "    ldaxp %0, %1, %3\n"
        "    cmp %0, %4\n"
        "    ccmp %1, %5, #0, eq\n"
        "    cset %w2, ne\n"
        "    b.ne 1f\n"
        "    stlxp %w2, %6, %7, %3\n"
        "1:\n"
        : "=&r"(found.live), "=&r"(found.peak), "=&r"(failed), "+Q"(*level)
        : "r"(old.live), "r"(old.peak), "r"(new.live), "r"(new.peak)
        : "cc", "memory");
    return failed == 0;
#else
#error "two words cannot be exchanged at once"
#endif
}

/* Add to the live bytes of a device, or set them to those that the allocator
 * reports. Return the previous level. */
static fd_memory_level
change_level(fd_memory_level *level, uint64_t by, const fd_memory_event *of)
{
    fd_memory_level old;
    fd_memory_level new;
    do {
        old.live = __atomic_load_n(&level->live, __ATOMIC_RELAXED);
        old.peak = __atomic_load_n(&level->peak, __ATOMIC_RELAXED);
        new.live = of->totals ? of->allocated : old.live + by;
        new.peak =
            new.live > old.peak && (int64_t)by > 0 ? new.live : old.peak;
    } while (!exchange_level(level, old, new));
    return old;
}

/* Return the string "cpu" or "cuda:0" of a device, or 0 if there is no
 * space. */
static uint32_t
name_of(fd_memory_use *use, uint32_t device)
{
    uint32_t known =
        atomic_load_explicit(&use->names[device], memory_order_relaxed);
    if (__builtin_expect(known != 0, true)) {
        return known;
    }
    char text[16] = "cpu";
    if (device != FD_MEMORY_CPU) {
        snprintf(text, sizeof text, "cuda:%u", device - FD_MEMORY_CUDA);
    }
    uint32_t name = fd_recording_text(use->recording, text);
    atomic_store_explicit(&use->names[device], name, memory_order_relaxed);
    return name;
}

/* Add a record to the list; called once per record, before its first count. */
static void
list_record(fd_memory_use *use, const fd_measure *record)
{
    uint32_t at = atomic_fetch_add(&use->count, 1);
    if (at < use->capacity) {
        __atomic_store_n(&use->records[at],
                         fd_file_id(&use->recording->file, record),
                         __ATOMIC_RELEASE);
    }
}

/* Add to a record of a device whose latest peak was `peak` before. Other
 * threads may read the sum. */
static void
add_bytes(fd_measure *record, uint64_t peak, uint64_t bytes)
{
    if (record->mark != peak) {
        record->other = record->sum;
        record->mark = peak;
    }
    record->count++;
    __atomic_store_n(&record->sum, record->sum + bytes, __ATOMIC_RELAXED);
    record->max = bytes > record->max ? bytes : record->max;
}

static fd_measure *
record_of(fd_memory_use *use, fd_tree *tree, uint32_t context, uint16_t kind,
          uint32_t device)
{
    uint32_t name = name_of(use, device);
    return name == 0
             ? NULL
             : fd_measures_at(tree, (fd_measure_key){.context = context,
                                                     .kind = kind,
                                                     .detail = name});
}

/* Return the PEAK record of a tree and device. */
static fd_measure *
peak_of(fd_memory_use *use, fd_tree *tree, uint32_t device)
{
    return record_of(use, tree, fd_tree_id(tree, tree->root), FD_MEASURE_PEAK,
                     device);
}

/* Return the REFUSED record of a tree and device. */
static fd_measure *
refused_of(fd_memory_use *use, fd_tree *tree, uint32_t device)
{
    return record_of(use, tree, fd_tree_id(tree, tree->root),
                     FD_MEASURE_REFUSED, device);
}

/* Store a new peak that the owner of `tree` has reached in `context`. */
static void
store_peak(fd_memory_use *use, fd_tree *tree, uint32_t context,
           const fd_memory_event *of, uint64_t bytes)
{
    fd_measure *peak = peak_of(use, tree, of->device);
    if (peak != NULL) {
        peak->count = of->step;
        peak->sum = of->totals ? of->reserved : 0;
        peak->max = bytes;
        peak->link = context;
    }
}

/* Change the level of a device by an allocated block. Return the peak
 * before. */
static uint64_t
level_raise(fd_memory_use *use, fd_tree *tree, uint32_t context,
            const fd_memory_event *of)
{
    fd_memory_level *level = &use->levels[of->device].level;
    fd_memory_level old = change_level(level, of->bytes, of);
    uint64_t live = of->totals ? of->allocated : old.live + of->bytes;
    if (live > old.peak) {
        store_peak(use, tree, context, of, live);
    }
    return old.peak;
}

/* Return a place for a block, and the record of its context; NULL: no space.
 * Records that must not be missing later are created before. */
static fd_memory_block *
block_place(fd_memory_use *use, fd_tree *tree, uint32_t context,
            const fd_memory_event *of, fd_measure **record)
{
    *record = record_of(use, tree, context, FD_MEASURE_ALLOCATED, of->device);
    if (*record == NULL
        || ((*record)->count == 0
            && (peak_of(use, tree, of->device) == NULL
                || refused_of(use, tree, of->device) == NULL))) {
        return NULL;
    }
    return fd_blocks_add(&use->blocks, of->address);
}

void
fd_memory_allocated(fd_memory_use *use, fd_tree *tree, uint32_t context,
                    const fd_memory_event *of)
{
    fd_blocks_prefetch(&use->blocks, of->address);
    fd_measure *record;
    fd_memory_block *block = block_place(use, tree, context, of, &record);
    if (block == NULL) {
        fd_memory_lose(use, of->bytes);
        if (of->totals) {
            level_raise(use, tree, context, of);
        }
        return;
    }
    uint64_t peak = level_raise(use, tree, context, of);
    block->bytes = of->bytes;
    block->peak = peak;
    block->record = fd_file_id(&use->recording->file, record);
    block->context = context & 0xffffffU /* ids have 24 bits */;
    block->device = (uint8_t)of->device;
    if (record->count == 0) {
        list_record(use, record);
    }
    add_bytes(record, peak, of->bytes);
}

/* Change the level of a device by a block that is not followed. Before it was
 * freed, the device may have had more bytes than at the peak so far. */
static void
lower_unknown(fd_memory_use *use, fd_tree *tree, uint32_t context,
              const fd_memory_event *of)
{
    atomic_fetch_add_explicit(&use->unknown, 1, memory_order_relaxed);
    if (of->totals) {
        fd_memory_event before = *of;
        before.allocated += of->bytes;
        level_raise(use, tree, context, &before);
        change_level(&use->levels[of->device].level, -of->bytes, of);
    }
}

/* Add a freed block to the peak that it was part of, the latest one so far. */
static void
add_to_peak(fd_memory_use *use, fd_tree *tree, uint32_t phase,
            const fd_memory_block *block, uint64_t peak)
{
    fd_measure *record = fd_measures_at(
        tree, (fd_measure_key){.context = block->context,
                               .kind = FD_MEASURE_PEAK_FREED,
                               .flags = (uint16_t)phase,
                               .detail = name_of(use, block->device)});
    if (record == NULL) {
        return;
    }
    if (record->mark != peak) {
        record->count = 0;
        record->sum = 0;
        record->max = 0;
        record->mark = peak;
    }
    fd_measure_add(record, block->bytes, 0);
}

void
fd_memory_freed(fd_memory_use *use, fd_tree *tree, uint32_t context,
                uint32_t phase, const fd_memory_event *of)
{
    fd_memory_block block;
    if (!fd_blocks_take(&use->blocks, of->address, &block)) {
        lower_unknown(use, tree, context, of);
        return;
    }
    fd_memory_level old =
        change_level(&use->levels[block.device].level, -block.bytes, of);
    fd_measure *record =
        record_of(use, tree, block.context, FD_MEASURE_FREED, block.device);
    if (record == NULL) {
        return;
    }
    if (record->count == 0) {
        record->link = block.record;
        list_record(use, record);
    }
    add_bytes(record, old.peak, block.bytes);
    if (block.peak < old.peak) {
        add_to_peak(use, tree, phase, &block, old.peak);
    }
}

void
fd_memory_refused(fd_memory_use *use, fd_tree *tree, uint32_t context,
                  const fd_memory_event *of)
{
    uint64_t number = atomic_fetch_add(&use->levels[of->device].refusals, 1);
    fd_measure *record = refused_of(use, tree, of->device);
    if (record == NULL) {
        return;
    }
    fd_memory_hold(use, record->detail);
    record->count++;
    record->sum = of->bytes;
    record->max = of->totals
                    ? of->allocated
                    : __atomic_load_n(&use->levels[of->device].level.live,
                                      __ATOMIC_RELAXED);
    record->other = of->totals ? of->reserved : 0;
    record->link = context;
    record->now = of->step;
    record->mark = number + 1;
}

uint64_t
fd_memory_live(const fd_memory_use *use)
{
    uint64_t live = 0;
    for (int i = 0; i < FD_MEMORY_DEVICES; i++) {
        live += __atomic_load_n(&use->levels[i].level.live, __ATOMIC_RELAXED);
    }
    return live;
}

void
fd_memory_lose(fd_memory_use *use, uint64_t bytes)
{
    atomic_fetch_add_explicit(&use->lost, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&use->lost_bytes, bytes, memory_order_relaxed);
}
