#include "check.h"
#include "fixtures.h"

#include "recording/measures/measure_table.h"
#include "recording/measures/memory_use.h"

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
static void
sums_of_live_bytes(void)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fd_memory_clear) fd_memory_use use = {.count = 0};
    OK(fixture_open(&f, NULL, 4));
    uint32_t node = fixture_node(&f, FD_NODE_OP, "aten::zeros");
    uint32_t leak = fd_tree_id(f.main, fixture_enter_node(f.main, node));
    uint32_t root = fd_tree_id(f.main, f.main->root);
    OK(fd_memory_init(&use, f.recording));
    fd_memory_allocated(&use, f.main, root, FD_MEMORY_CPU, 64, 500);
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t at = 4096 + step * 64;
        fd_memory_allocated(&use, f.main, leak, FD_MEMORY_CPU, at, 1000);
        fd_memory_allocated(&use, f.main, leak, FD_MEMORY_CPU, 128, 7);
        fd_memory_freed(&use, f.main, FD_PHASE_OTHER, 128);
        fd_memory_step(&use, f.main);
    }
    const fd_measure *grown = kept_at(&f, &use, leak);
    CHECK(grown != NULL);
    EQUAL(grown->count, STEPS);
    EQUAL(grown->sum, 55000);
    EQUAL(grown->now, 10000);
    EQUAL(grown->max, 10000);
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
    EQUAL(lost->count, 1);
    EQUAL(lost->sum, 9);
    fixture_leave(f.main);
}

RUN(ABSORBS(sums_of_live_bytes))
