#include "check.h"
#include "fixtures.h"

#include "recording/measures/measure_table.h"
#include "recording/measures/memory_use.h"

#include <pthread.h>
#include <stdlib.h>

enum { PATHS = 5, BLOCKS = 40, EVENTS = 4000, THREADS = 4 };

typedef struct memory {
    fixture f;
    fd_memory_use use;
    uint32_t paths[PATHS];
} memory;

static fd_status
memory_open(memory *m)
{
    memset(m, 0, sizeof *m);
    fd_status status = fixture_open(&m->f, NULL, 4);
    for (int i = 0; i < PATHS && status == FD_OK; i++) {
        char name[] = "aten::op0";
        name[sizeof name - 2] = (char)('0' + i);
        uint32_t node = fixture_node(&m->f, FD_NODE_OP, name);
        m->paths[i] =
            fd_tree_id(m->f.main, fixture_enter_node(m->f.main, node));
        fixture_leave(m->f.main);
    }
    return status == FD_OK ? fd_memory_init(&m->use, m->f.recording) : status;
}

static void
memory_clear(memory *m)
{
    fd_memory_clear(&m->use);
    fixture_clear(&m->f);
}

static const fd_measure *
row(memory *m, int path, uint16_t kind, uint16_t flags)
{
    return fd_measures_at(m->f.main,
                          (fd_measure_key){.context = m->paths[path],
                                           .kind = kind,
                                           .flags = flags,
                                           .detail = m->use.names[0]});
}

/* The sum of a record at the final peak, as readers compute it. */
static uint64_t
at_peak(const fd_measure *record, uint64_t peak)
{
    return record->mark == peak ? record->other : record->sum;
}

static void
take(memory *m, int path, uint64_t address, uint64_t bytes)
{
    fd_memory_allocated(
        &m->use, m->f.main, m->paths[path],
        &(fd_memory_event){.address = address, .bytes = bytes});
}

static void
give(memory *m, uint32_t phase, uint64_t address)
{
    fd_memory_freed(
        &m->use, m->f.main, m->paths[0], phase,
        &(fd_memory_event){.change = FD_MEMORY_FREED, .address = address});
}

ABSORBS(shares_of_the_peak)
{
    CLEAN(memory_clear) memory m;
    OK(memory_open(&m));
    take(&m, 0, 64, 100);
    take(&m, 1, 128, 50);
    give(&m, 1, 64);
    take(&m, 2, 192, 120); /* the peak: 170 */
    give(&m, 2, 128);
    take(&m, 0, 64, 30);
    FIELDS(&m.use.levels[0].level, (peak, 170), (live, 150));
    uint64_t shares[PATHS];
    for (int i = 0; i < 3; i++) {
        shares[i] = at_peak(row(&m, i, FD_MEASURE_ALLOCATED, 0), 170)
                  - at_peak(row(&m, i, FD_MEASURE_FREED, 0), 170);
    }
    EQUAL(shares[0], 0);
    EQUAL(shares[1], 50);
    EQUAL(shares[2], 120);
    FIELDS(row(&m, 1, FD_MEASURE_PEAK_FREED, 2), (sum, 50), (mark, 170));
    give(&m, 0, 4096);
    EQUAL(m.use.unknown, 1);
}

/* A slow model: after each event all blocks are added up. */
ABSORBS(random_events_match_a_model)
{
    CLEAN(memory_clear) memory m;
    OK(memory_open(&m));
    uint64_t bytes[BLOCKS] = {0};
    int path_of[BLOCKS] = {0};
    uint64_t live[PATHS] = {0};
    uint64_t share[PATHS] = {0};
    uint64_t peak = 0;
    unsigned seed = 7;
    for (int i = 0; i < EVENTS; i++) {
        int block = rand_r(&seed) % BLOCKS;
        uint64_t address = 64 + (uint64_t)block * 64;
        if (bytes[block] != 0) {
            give(&m, 0, address);
            live[path_of[block]] -= bytes[block];
            bytes[block] = 0;
            continue;
        }
        path_of[block] = rand_r(&seed) % PATHS;
        bytes[block] = 1 + (uint64_t)(rand_r(&seed) % 1000);
        take(&m, path_of[block], address, bytes[block]);
        live[path_of[block]] += bytes[block];
        uint64_t sum = 0;
        for (int k = 0; k < PATHS; k++) {
            sum += live[k];
        }
        if (sum > peak) {
            peak = sum;
            memcpy(share, live, sizeof share);
        }
    }
    EQUAL(m.use.levels[0].level.peak, peak);
    for (int k = 0; k < PATHS; k++) {
        const fd_measure *taken = row(&m, k, FD_MEASURE_ALLOCATED, 0);
        const fd_measure *freed = row(&m, k, FD_MEASURE_FREED, 0);
        CHECK(taken != NULL && freed != NULL);
        EQUAL(taken->sum - freed->sum, live[k]);
        EQUAL(at_peak(taken, peak) - at_peak(freed, peak), share[k]);
    }
}

typedef struct worker {
    memory *m;
    fd_tree *tree;
    uint64_t base;
} worker;

static void *
work(void *argument)
{
    const worker *w = argument;
    for (uint64_t i = 0; i < EVENTS; i++) {
        uint64_t address = w->base + i % BLOCKS * 64;
        if (i >= BLOCKS) {
            fd_memory_freed(&w->m->use, w->tree, 0, 0,
                            &(fd_memory_event){.change = FD_MEMORY_FREED,
                                               .address = address});
        }
        fd_memory_allocated(
            &w->m->use, w->tree, w->m->paths[i % PATHS],
            &(fd_memory_event){.address = address, .bytes = 1 + i % 97});
        if (i % 64 == 0) {
            fd_memory_refused(&w->m->use, w->tree, w->m->paths[0],
                              &(fd_memory_event){.bytes = 7});
        }
    }
    return NULL;
}

/* The sums at the peak add up to it, however events of threads interleave. */
ONCE(threads_agree_on_the_peak)
{
    CLEAN(memory_clear) memory m;
    OK(memory_open(&m));
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        char role[] = "worker 0";
        role[7] = (char)('0' + i);
        workers[i] =
            (worker){&m, fixture_thread(&m.f, role), (uint64_t)(i + 1) << 20};
        CHECK(workers[i].tree != NULL);
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    uint64_t sum = 0;
    uint64_t peak = m.use.levels[0].level.peak;
    for (uint32_t i = 0; i < m.use.count; i++) {
        const fd_measure *record =
            fd_file_record(&m.f.recording->file, m.use.records[i]);
        sum += record->kind == FD_MEASURE_ALLOCATED ? at_peak(record, peak)
                                                    : -at_peak(record, peak);
    }
    EQUAL(sum, peak);
    CHECK(peak >= m.use.levels[0].level.live);
    EQUAL(m.use.levels[0].refusals, THREADS * ((EVENTS + 63) / 64));
}

/* An event of the device cuda:0, after which it has `allocated` bytes. */
static void
on_gpu(memory *m, int path, fd_memory_change change, uint64_t address,
       uint64_t bytes, uint64_t allocated)
{
    fd_memory_event of = {.change = change,
                          .device = FD_MEMORY_CUDA,
                          .address = address,
                          .bytes = bytes,
                          .step = 5,
                          .totals = true,
                          .allocated = allocated,
                          .reserved = allocated + 10};
    if (change == FD_MEMORY_ALLOCATED) {
        fd_memory_allocated(&m->use, m->f.main, m->paths[path], &of);
    }
    else if (change == FD_MEMORY_FREED) {
        fd_memory_freed(&m->use, m->f.main, m->paths[path], 0, &of);
    }
    else {
        fd_memory_refused(&m->use, m->f.main, m->paths[path], &of);
    }
}

static const fd_measure *
gpu_row(memory *m, uint32_t context, uint16_t kind)
{
    return fd_measures_at(
        m->f.main, (fd_measure_key){.context = context,
                                    .kind = kind,
                                    .detail = m->use.names[FD_MEMORY_CUDA]});
}

/* The device has 1000 bytes from before the recording. */
ABSORBS(totals_of_the_allocator)
{
    CLEAN(memory_clear) memory m;
    OK(memory_open(&m));
    const fd_memory_level *level = &m.use.levels[FD_MEMORY_CUDA].level;
    on_gpu(&m, 0, FD_MEMORY_FREED, 8, 300, 700); /* one of these blocks */
    FIELDS(level, (peak, 1000), (live, 700));
    EQUAL(m.use.unknown, 1);
    on_gpu(&m, 1, FD_MEMORY_ALLOCATED, 64, 100, 800);
    EQUAL(level->peak, 1000);
    on_gpu(&m, 2, FD_MEMORY_ALLOCATED, 128, 500, 1300);
    on_gpu(&m, 1, FD_MEMORY_FREED, 64, 100, 1200);
    FIELDS(level, (peak, 1300), (live, 1200));
    uint32_t root = fd_tree_id(m.f.main, m.f.main->root);
    const fd_measure *peak = gpu_row(&m, root, FD_MEASURE_PEAK);
    CHECK(peak != NULL);
    FIELDS(peak, (count, 5), (sum, 1310), (max, 1300), (link, m.paths[2]));
    const fd_measure *taken = gpu_row(&m, m.paths[1], FD_MEASURE_ALLOCATED);
    EQUAL(at_peak(taken, 1300), 100);
    EQUAL(at_peak(gpu_row(&m, m.paths[1], FD_MEASURE_FREED), 1300), 0);
}

/* The latest failure, and the bytes live then, also of blocks freed later. */
ABSORBS(failed_allocations)
{
    CLEAN(memory_clear) memory m;
    OK(memory_open(&m));
    on_gpu(&m, 0, FD_MEMORY_ALLOCATED, 64, 100, 100);
    on_gpu(&m, 0, FD_MEMORY_REFUSED, 0, 5000, 100);
    on_gpu(&m, 0, FD_MEMORY_ALLOCATED, 128, 30, 130);
    on_gpu(&m, 1, FD_MEMORY_ALLOCATED, 192, 20, 150);
    on_gpu(&m, 2, FD_MEMORY_FREED, 64, 100, 50);
    on_gpu(&m, 2, FD_MEMORY_REFUSED, 0, 9000, 50);
    on_gpu(&m, 2, FD_MEMORY_FREED, 192, 20, 30);
    uint32_t root = fd_tree_id(m.f.main, m.f.main->root);
    const fd_measure *refused = gpu_row(&m, root, FD_MEASURE_REFUSED);
    CHECK(refused != NULL);
    FIELDS(refused, (count, 2), (mark, 2), (sum, 9000), (max, 50), (other, 60),
           (now, 5), (link, m.paths[2]));
    EQUAL(gpu_row(&m, m.paths[0], FD_MEASURE_ALLOCATED)->now, 30);
    EQUAL(gpu_row(&m, m.paths[1], FD_MEASURE_ALLOCATED)->now, 20);
    EQUAL(m.use.levels[FD_MEMORY_CUDA].level.peak, 150);
}
