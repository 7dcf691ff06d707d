#include "recording/measures/measure_table.h"
#include "recording/measures/memory_use.h"

#include <stdatomic.h>
#include <string.h>

/* Add to a sum for a slope, which is a double stored in a word of the
 * record. */
static void
add_double(uint64_t *word, double value)
{
    double sum;
    memcpy(&sum, word, sizeof sum);
    sum += value;
    memcpy(word, &sum, sizeof sum);
}

/* Return the i-th record, or NULL while it is being added. */
static fd_measure *
record_at(const fd_memory_use *use, uint32_t i)
{
    uint32_t id = __atomic_load_n(&use->records[i], __ATOMIC_ACQUIRE);
    return id == 0 ? NULL : fd_file_record(&use->recording->file, id);
}

static uint32_t
count_of(const fd_memory_use *use)
{
    uint32_t count = atomic_load(&use->count);
    return count < use->capacity ? count : use->capacity;
}

/* Return the sum of a record that its owner may be changing. */
static uint64_t
sum_of(const fd_measure *record)
{
    return __atomic_load_n(&record->sum, __ATOMIC_RELAXED);
}

/* Return the KEPT record of an ALLOCATED record, or NULL if there is no
 * space. */
static fd_measure *
kept_of(const fd_memory_use *use, fd_tree *tree, fd_measure *allocated)
{
    if (allocated->link != 0) {
        return fd_file_record(&use->recording->file, allocated->link);
    }
    if (tree == NULL) {
        return NULL;
    }
    fd_measure *kept =
        fd_measures_at(tree, (fd_measure_key){.context = allocated->context,
                                              .kind = FD_MEASURE_KEPT,
                                              .detail = allocated->detail});
    allocated->link =
        kept == NULL ? 0 : fd_file_id(&use->recording->file, kept);
    return kept;
}

/* Return the KEPT record of the i-th record if that is one of allocations, and
 * both exist. With a tree, it is added. */
static fd_measure *
kept_at(const fd_memory_use *use, fd_tree *tree, uint32_t i)
{
    fd_measure *record = record_at(use, i);
    return record != NULL && record->kind == FD_MEASURE_ALLOCATED
             ? kept_of(use, tree, record)
             : NULL;
}

/* Store the live bytes of each context in `now` of its KEPT record. */
static void
find_live(fd_memory_use *use, fd_tree *tree, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fd_measure *kept = kept_at(use, tree, i);
        if (kept != NULL) {
            kept->now = 0;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const fd_measure *record = record_at(use, i);
        if (record == NULL) {
            continue;
        }
        bool freed = record->kind == FD_MEASURE_FREED;
        fd_measure *allocated =
            fd_file_record(&use->recording->file, record->link);
        fd_measure *kept = !freed ? record->link == 0 ? NULL : allocated
                                  : kept_of(use, NULL, allocated);
        if (kept != NULL) {
            kept->now += freed ? -sum_of(record) : sum_of(record);
        }
    }
}

void
fd_memory_hold(fd_memory_use *use, uint32_t name)
{
    if (atomic_exchange(&use->holding, true)) {
        return;
    }
    uint32_t count = count_of(use);
    for (uint32_t i = 0; i < count; i++) {
        fd_measure *record = record_at(use, i);
        if (record != NULL && record->kind == FD_MEASURE_ALLOCATED
            && record->detail == name) {
            record->now = sum_of(record);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const fd_measure *record = record_at(use, i);
        if (record != NULL && record->kind == FD_MEASURE_FREED
            && record->detail == name) {
            fd_measure *allocated =
                fd_file_record(&use->recording->file, record->link);
            allocated->now -= sum_of(record);
        }
    }
    atomic_store(&use->holding, false);
}

static void
live_sample(fd_memory_use *use, fd_tree *tree)
{
    uint32_t count = count_of(use);
    find_live(use, tree, count);
    double at = (double)use->ends++;
    for (uint32_t i = 0; i < count; i++) {
        fd_measure *kept = kept_at(use, NULL, i);
        if (kept == NULL || kept->count == use->ends) {
            continue;
        }
        uint64_t live = (int64_t)kept->now > 0 ? kept->now : 0;
        kept->count = use->ends;
        kept->sum += live;
        kept->max = live > kept->max ? live : kept->max;
        add_double(&kept->other, at * (double)live);
        add_double(&kept->mark, (double)live * (double)live);
    }
}

static void
samples_discard(fd_memory_use *use)
{
    uint32_t count = count_of(use);
    use->ends = 0;
    for (uint32_t i = 0; i < count; i++) {
        fd_measure *kept = kept_at(use, NULL, i);
        if (kept != NULL) {
            kept->count = kept->sum = kept->max = 0;
            kept->other = kept->mark = 0;
        }
    }
}

/* Only the thread that sets `sampling` changes samples. If another one does so
 * at the same time, both end the same step, and a request to discard samples
 * is met by that thread or at the next step. */
static void
samples_change(fd_memory_use *use, fd_tree *tree)
{
    if (atomic_exchange(&use->sampling, true)) {
        return;
    }
    if (atomic_exchange(&use->discarded, false)) {
        samples_discard(use);
    }
    if (tree != NULL) {
        live_sample(use, tree);
    }
    atomic_store(&use->sampling, false);
}

void
fd_memory_step(fd_memory_use *use, fd_tree *tree)
{
    samples_change(use, tree);
}

void
fd_memory_discard(fd_memory_use *use)
{
    atomic_store(&use->discarded, true);
    samples_change(use, NULL);
}

void
fd_memory_settle(fd_memory_use *use, fd_tree *tree)
{
    fd_measure *record = fd_measures_at(
        tree, (fd_measure_key){.context = fd_tree_id(tree, tree->root),
                               .kind = FD_MEASURE_UNFOLLOWED});
    if (record != NULL) {
        record->count = atomic_load(&use->lost);
        record->sum = atomic_load(&use->lost_bytes);
        record->other = atomic_load(&use->unknown);
    }
}
