#include "check.h"
#include "fixtures.h"

#include "recording/measures/measure_table.h"
#include "recording/measures/memory_use.h"

#include <pthread.h>

enum { STEPS = 10 };

static fd_measure *
kept_at(fixture *f, fd_memory_use *use, uint32_t context)
{
    return fd_measures_at(f->main, (fd_measure_key){.context = context,
                                                    .kind = FD_MEASURE_KEPT,
                                                    .detail = use->names[0]});
}

static double
number_in(uint64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* 1000 bytes per step of one context, 500 once of the other. */
ABSORBS(sums_of_live_bytes)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fd_memory_clear) fd_memory_use use = {.count = 0};
    uint32_t node = fixture_node(&f, FD_NODE_OP, "aten::zeros");
    uint32_t leak = fd_tree_id(f.main, fixture_enter_node(f.main, node));
    uint32_t root = fd_tree_id(f.main, f.main->root);
    OK(fd_memory_init(&use, f.recording));
    fd_memory_allocated(&use, f.main, root,
                        &(fd_memory_event){.address = 64, .bytes = 500});
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t at = 4096 + step * 64;
        fd_memory_allocated(&use, f.main, leak,
                            &(fd_memory_event){.address = at, .bytes = 1000});
        fd_memory_allocated(&use, f.main, leak,
                            &(fd_memory_event){.address = 128, .bytes = 7});
        fd_memory_freed(
            &use, f.main, root, FD_PHASE_OTHER,
            &(fd_memory_event){.change = FD_MEMORY_FREED, .address = 128});
        fd_memory_step(&use, f.main);
    }
    const fd_measure *grown = kept_at(&f, &use, leak);
    CHECK(grown != NULL);
    FIELDS(grown, (count, STEPS), (sum, 55000), (now, 10000), (max, 10000));
    EQUAL((uint64_t)number_in(grown->other), 330000); /* of i * (i + 1) */
    EQUAL((uint64_t)number_in(grown->mark), 385000000);
    const fd_measure *steady = kept_at(&f, &use, root);
    CHECK(steady != NULL);
    EQUAL(steady->sum, 5000);
    fd_memory_discard(&use);
    EQUAL(grown->count, 0);
    EQUAL(use.ends, 0);
    fd_memory_lose(&use, 9);
    fd_memory_settle(&use, f.main);
    const fd_measure *lost = fd_measures_at(
        f.main,
        (fd_measure_key){.context = root, .kind = FD_MEASURE_UNFOLLOWED});
    CHECK(lost != NULL);
    FIELDS(lost, (count, 1), (sum, 9));
    fixture_leave(f.main);
}

typedef struct stepping {
    fd_memory_use *use;
    fd_tree *tree;
} stepping;

static void *
steps_end(void *argument)
{
    const stepping *one = argument;
    for (int i = 0; i < 2000; i++) {
        fd_memory_step(one->use, one->tree);
        if (i % 100 == 0) {
            fd_memory_discard(one->use);
        }
    }
    return NULL;
}

/* Each sample is complete: sums fit to their number. */
ONCE(threads_end_steps_at_once)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fd_memory_clear) fd_memory_use use = {.count = 0};
    uint32_t root = fd_tree_id(f.main, f.main->root);
    OK(fd_memory_init(&use, f.recording));
    fd_memory_allocated(&use, f.main, root,
                        &(fd_memory_event){.address = 64, .bytes = 500});
    fd_memory_step(&use, f.main); /* which gets the record of the samples */
    stepping steps[2] = {{&use, fixture_thread(&f, "worker 0")},
                         {&use, fixture_thread(&f, "worker 1")}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        CHECK(steps[i].tree != NULL);
        pthread_create(&threads[i], NULL, steps_end, &steps[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    fd_memory_step(&use, f.main);
    const fd_measure *kept = kept_at(&f, &use, root);
    CHECK(kept != NULL);
    FIELDS(kept, (count, use.ends), (sum, 500 * use.ends));
    EQUAL((uint64_t)number_in(kept->mark), 250000 * use.ends);
}
