#include "check.h"
#include "fixtures.h"

static const fd_snapshot *
snapshots_of(const fixture *f)
{
    return f->steps.snapshots.records;
}

static const fd_snapshot_figure *
figure_at(const fixture *f, uint64_t index)
{
    const fd_snapshots *snapshots = &f->steps.snapshots;
    return (const fd_snapshot_figure *)fd_chunk_records(
               snapshots->figures.chunk)
         + index;
}

static void
steps(fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        fixture_work(10);
        fd_steps_end(&f->steps, f->main, FD_STEPS_EXPLICIT);
    }
}

/* 2^k and 3 * 2^k; record 0 follows each step. */
ABSORBS(chosen_steps)
{
    FIXTURE(f, NULL, 4);
    static const uint64_t expected[] = {1, 2, 3, 4, 6, 8, 12, 16, 24};
    uint64_t begin = check_clock_now();
    steps(&f, 25);
    const fd_snapshot *list = snapshots_of(&f);
    CHECK(list != NULL);
    EQUAL(f.steps.snapshots.count, 10);
    for (uint32_t i = 0; i < 9; i++) {
        FIELDS(&list[i + 1], (steps, expected[i]), (number, expected[i] - 1),
               (tick, begin + 10 * expected[i]),
               (phases[FD_PHASE_OTHER], 10 * expected[i]), (threads, i + 1));
        CHECK(list[i + 1].memory > 0);
    }
    EQUAL(list[0].steps, 25);
    EQUAL(list[0].recorded - list[9].recorded, 10);
}

/* Only contexts that were active since the snapshot before. */
ABSORBS(only_changes)
{
    FIXTURE(f, NULL, 4);
    uint32_t once = fixture_node(&f, FD_NODE_OP, "once");
    uint32_t often = fixture_node(&f, FD_NODE_OP, "often");
    const fd_context *first = fixture_call(f.main, once, 5);
    for (int i = 0; i < 2; i++) {
        const fd_context *called = fixture_call(f.main, often, 7);
        fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
        const fd_snapshot *list = snapshots_of(&f);
        CHECK(list != NULL && f.steps.snapshots.figures.chunk != NULL);
        uint64_t last = list[i + 1].figures - 1;
        FIELDS(figure_at(&f, last), (context, fd_tree_id(f.main, called)),
               (calls, (uint64_t)i + 1), (self, 7 * ((uint64_t)i + 1)),
               (steps, (uint32_t)i + 1));
    }
    const fd_snapshot *list = snapshots_of(&f);
    EQUAL(list[1].figures, 3); /* and the root */
    EQUAL(list[2].figures, 5); /* without the first */
    EQUAL(figure_at(&f, 1)->context, fd_tree_id(f.main, first));
}

/* A thread that waits has its time since its last event in the snapshot. */
ABSORBS(other_threads)
{
    FIXTURE(f, NULL, 4);
    fd_tree *other = fixture_thread(&f, "other");
    CHECK(other != NULL);
    const fd_context *wait =
        fixture_enter_node(other, fixture_node(&f, FD_NODE_OP, "wait"));
    uint64_t entered = check_clock_now();
    steps(&f, 1);
    CHECK(f.steps.snapshots.threads.chunk != NULL);
    const fd_snapshot_thread *threads =
        fd_chunk_records(f.steps.snapshots.threads.chunk);
    FIELDS(&threads[0], (context, fd_tree_id(other, wait)), (last, entered));
    EQUAL(other->record->step_context, fd_tree_id(other, wait));
    EQUAL(other->record->step_last, entered);
    fd_tree_release(other);
    steps(&f, 1);
    EQUAL(other->record->step_context, 0);
    EQUAL(other->record->step_covered, other->record->covered);
}

ABSORBS(asynchronous)
{
    FIXTURE(f, NULL, 4);
    fd_callee callee = {fixture_node(&f, FD_NODE_OP, "work"), 0, 0};
    fd_context *work = fd_tree_child(f.main, f.main->root, &callee);
    work->flags |= FD_CONTEXT_ASYNC;
    work->calls++;
    work->self += 1000;
    steps(&f, 2);
    const fd_spread *spread = fd_file_record(&f.recording->file, work->spread);
    FIELDS(spread, (self_mark, 1000), (calls_mark, 1), (steps, 0));
    CHECK(snapshots_of(&f) != NULL);
    EQUAL(snapshots_of(&f)[1].figures, 2);
    EQUAL(snapshots_of(&f)[2].figures, 3);
}

/* A stronger source starts anew: its first snapshot has every context. */
ABSORBS(other_source)
{
    FIXTURE(f, NULL, 4);
    for (int i = 0; i < 2; i++) {
        fixture_work(10);
        fd_steps_end(&f.steps, f.main, FD_STEPS_OPTIMIZER);
    }
    fixture_work(10);
    fd_steps_end(&f.steps, f.main, FD_STEPS_ENGINE);
    const fd_snapshot *list = snapshots_of(&f);
    CHECK(list != NULL);
    EQUAL(f.steps.snapshots.count, 4);
    EQUAL(list[2].source, FD_STEPS_OPTIMIZER);
    FIELDS(&list[3], (source, FD_STEPS_ENGINE), (steps, 1),
           (phases[FD_PHASE_OTHER], 30), (figures, list[2].figures + 1));
}

/* Beyond its share there is no snapshot any more, and the rest is counted. */
ABSORBS(bounded)
{
    FIXTURE(f, NULL, 4);
    f.recording->limits.max_snapshots =
        3 * (sizeof(fd_snapshot_figure) + sizeof(fd_snapshot_thread));
    steps(&f, 8);
    const fd_header *header = fd_file_header(&f.recording->file);
    CHECK(snapshots_of(&f) != NULL);
    EQUAL(f.steps.snapshots.count, 4);
    EQUAL(header->counters[FD_COUNT_SNAPSHOTS_FULL], 3); /* 4, 6, 8 */
    EQUAL(snapshots_of(&f)[0].steps, 8);
}
