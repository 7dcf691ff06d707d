#include "check.h"
#include "fixtures.h"

#include <math.h>

static const fd_spread *
spread_of(const fixture *f, const fd_context *context)
{
    return fd_file_record(&f->recording->file, context->spread);
}

static bool
near(double got, double wanted)
{
    return fabs(got - wanted) <= 1e-6 * fabs(wanted);
}

/* A parent that calls a leaf, for these times, one step each. */
static void
play(fixture *f, uint32_t parent, uint32_t leaf, const uint64_t *ns, int count,
     fd_context *contexts[2])
{
    for (int i = 0; i < count; i++) {
        contexts[0] = fixture_enter_node(f->main, parent);
        fixture_work(10);
        if (ns[i] > 0) {
            contexts[1] = fixture_call(f->main, leaf, ns[i]);
        }
        fixture_leave(f->main);
        fd_steps_end(&f->steps, f->main, FD_STEPS_EXPLICIT);
    }
}

ABSORBS(spreads_over_steps)
{
    FIXTURE(f, NULL, 4);
    uint32_t parent = fixture_function(&f, "parent", 0);
    uint32_t leaf = fixture_node(&f, FD_NODE_OP, "leaf");
    fd_context *contexts[2] = {NULL, NULL};
    play(&f, parent, leaf, (uint64_t[]){100, 0, 300, 200}, 4, contexts);
    const fd_spread *outer = spread_of(&f, contexts[0]);
    const fd_spread *inner = spread_of(&f, contexts[1]);
    FIELDS(inner, (steps, 3), (last_step, 3));
    CHECK(near(inner->self_min, 100) && near(inner->self_max, 300));
    CHECK(near(inner->self_squares, 1e4 + 9e4 + 4e4));
    EQUAL(inner->self_mark, 600);
    EQUAL(outer->steps, 4);
    CHECK(near(outer->self_min, 10) && near(outer->self_max, 10));
    CHECK(near(outer->total_min, 10) && near(outer->total_max, 310));
    CHECK(near(outer->total_squares,
               110. * 110 + 10 * 10 + 310 * 310 + 210 * 210));
    EQUAL(fd_file_header(&f.recording->file)->steps, 4);
}

/* A call that is open at the end of a step has spent its time so far in it. */
ABSORBS(open_calls_are_split)
{
    FIXTURE(f, NULL, 4);
    uint32_t node = fixture_node(&f, FD_NODE_OP, "open");
    const fd_context *context = fixture_enter_node(f.main, node);
    fixture_work(70);
    CHECK(fd_steps_end(&f.steps, f.main, FD_STEPS_PROFILER));
    fixture_work(30);
    CHECK(fd_steps_end(&f.steps, f.main, FD_STEPS_PROFILER));
    const fd_spread *spread = spread_of(&f, context);
    EQUAL(spread->steps, 2);
    CHECK(near(spread->self_min, 30) && near(spread->self_max, 70));
}

ABSORBS(ring_and_phases)
{
    FIXTURE(f, NULL, 4);
    uint32_t forward = fixture_function(&f, "forward", FD_PHASE_FORWARD);
    uint32_t leaf = fixture_node(&f, FD_NODE_OP, "leaf");
    fd_context *contexts[2] = {NULL, NULL};
    uint64_t begin = check_clock_now();
    play(&f, forward, leaf, (uint64_t[]){100, 200}, 2, contexts);
    const fd_step *steps = f.recording->steps;
    FIELDS(&steps[0], (number, 0), (begin, begin), (end, begin + 110));
    FIELDS(&steps[1], (begin, begin + 110), (end, begin + 320),
           (phases[FD_PHASE_FORWARD], 210), (phases[FD_PHASE_OTHER], 0),
           (top[0].context, fd_tree_id(f.main, contexts[1])));
    CHECK(near(steps[1].top[0].self, 200));
    EQUAL(steps[1].top[1].context, fd_tree_id(f.main, contexts[0]));
    EQUAL(steps[1].top[2].context, 0);
}

/* Only the most expensive are kept, in order, and the ring wraps around. */
ABSORBS(tops_and_laps)
{
    FIXTURE(f, NULL, 4);
    for (uint64_t i = 0; i < 12; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        fixture_call(f.main, fixture_node(&f, FD_NODE_OP, name),
                     i * 7 % 12 + 1);
    }
    fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
    const fd_step *step = &f.recording->steps[0];
    for (int i = 0; i < FD_STEP_TOP; i++) {
        CHECK(near(step->top[i].self, 12 - i));
    }
    for (int i = 1; i < FD_STEPS_KEPT + 2; i++) {
        fixture_work(1);
        fd_steps_begin(&f.steps, 5 * (uint64_t)i, check_clock_now());
        fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
    }
    FIELDS(f.recording, (steps[0].number, 5 * FD_STEPS_KEPT),
           (steps[1].number, 5 * FD_STEPS_KEPT + 5), (steps[2].number, 10));
    EQUAL(fd_file_header(&f.recording->file)->steps, FD_STEPS_KEPT + 2);
}

/* A stronger source of steps discards those of the weaker one, and disables
 * it. */
ABSORBS(stronger_source_wins)
{
    FIXTURE(f, NULL, 4);
    uint32_t node = fixture_node(&f, FD_NODE_OP, "op");
    const fd_context *context = fixture_enter_node(f.main, node);
    const fd_header *header = fd_file_header(&f.recording->file);
    for (int i = 0; i < 3; i++) {
        fixture_work(50);
        CHECK(fd_steps_end(&f.steps, f.main, FD_STEPS_OPTIMIZER));
    }
    EQUAL(header->steps, 3);
    fixture_work(50);
    CHECK(fd_steps_end(&f.steps, f.main, FD_STEPS_ENGINE));
    FIELDS(header, (steps, 1), (steps_source, FD_STEPS_ENGINE));
    CHECK(near(spread_of(&f, context)->self_max, 200));
    EQUAL(spread_of(&f, context)->steps, 1);
    EQUAL(f.recording->steps[0].end - f.recording->steps[0].begin, 200);
    EQUAL(f.recording->steps[1].end, 0);
    fixture_work(50);
    CHECK(!fd_steps_end(&f.steps, f.main, FD_STEPS_OPTIMIZER));
    EQUAL(header->steps, 1);
}

/* Figures of other threads in a step are in their spreads, not in its phases.
 * */
ABSORBS(other_threads)
{
    FIXTURE(f, NULL, 4);
    fd_tree *other = fixture_thread(&f, "other");
    uint32_t node = fixture_function(&f, "backward", FD_PHASE_BACKWARD);
    CHECK(other != NULL);
    const fd_context *context = fixture_call(other, node, 60);
    fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
    EQUAL(spread_of(&f, context)->steps, 1);
    CHECK(near(spread_of(&f, context)->self_max, 60));
    EQUAL(f.recording->steps[0].phases[FD_PHASE_BACKWARD], 0);
    EQUAL(f.recording->steps[0].phases[FD_PHASE_OTHER], 60);
}

/* Durations of asynchronous records are in no sum. */
ABSORBS(asynchronous_is_apart)
{
    FIXTURE(f, NULL, 4);
    fd_context *parent =
        fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "op"));
    fd_callee callee = {fixture_node(&f, FD_NODE_OP, "work"), 0, 0};
    fd_context *work = fd_tree_child(f.main, parent, &callee);
    work->flags |= FD_CONTEXT_ASYNC;
    work->calls++;
    work->self += 1000;
    fixture_work(10);
    fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
    CHECK(near(spread_of(&f, parent)->total_max, 10));
    EQUAL(spread_of(&f, work)->steps, 0);
}

ABSORBS(windows_keep_their_numbers)
{
    FIXTURE(f, NULL, 4);
    fd_steps_begin(&f.steps, 10, check_clock_now());
    fixture_work(5);
    fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
    fd_steps_begin(&f.steps, 20, check_clock_now());
    fixture_work(5);
    fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
    const fd_header *header = fd_file_header(&f.recording->file);
    FIELDS(header, (first_step, 10), (steps, 2));
    FIELDS(f.recording, (steps[0].number, 10), (steps[1].number, 20));
}

/* A step has the sums since the previous one, of all threads; steps of a
 * discarded source become part of the next one. */
ABSORBS(measured_figures)
{
    FIXTURE(f, NULL, 4);
    fd_tree *other = fixture_thread(&f, "other");
    CHECK(other != NULL);
    f.main->measures.communicated = 1000; /* before the window */
    fd_steps_begin(&f.steps, 0, check_clock_now());
    f.steps.live = 65;
    f.main->measures.communicated += 100;
    fd_steps_end(&f.steps, f.main, FD_STEPS_OPTIMIZER);
    const fd_step *steps = f.recording->steps;
    FIELDS(&steps[0], (communicated, 0), (live, 65));
    f.steps.communicated = true;
    f.main->measures.communicated += 7;
    other->measures.communicated += 20;
    fd_steps_end(&f.steps, f.main, FD_STEPS_OPTIMIZER);
    EQUAL(steps[1].communicated, 28);
    f.main->measures.communicated += 3;
    fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
    EQUAL(steps[0].communicated, 131);
}

/* The rest of a step is not part of the figures, except new contexts. */
ABSORBS(dropped_rest)
{
    FIXTURE(f, NULL, 4);
    uint32_t parent = fixture_function(&f, "parent", 0);
    uint32_t leaf = fixture_node(&f, FD_NODE_OP, "leaf");
    fd_context *contexts[2] = {NULL, NULL};
    play(&f, parent, leaf, (uint64_t[]){100, 200}, 2, contexts);
    fd_context *before = fixture_enter_node(f.main, parent);
    fixture_work(5);
    const fd_context *new =
        fixture_call(f.main, fixture_node(&f, FD_NODE_OP, "new"), 40);
    fixture_leave(f.main);
    fd_recording_pause(f.recording, true);
    uint64_t covered = f.main->record->covered;
    EQUAL(fd_steps_calls(&f.steps), 7);
    fd_steps_drop(&f.steps, 45);
    EQUAL(fd_steps_calls(&f.steps), 6);
    FIELDS(before, (calls, 2), (self, 20));
    EQUAL(contexts[1]->calls, 2);
    FIELDS(new, (calls, 1), (self, 40));
    EQUAL(f.main->record->covered, covered - 5);
    FIELDS(spread_of(&f, new), (steps, 0), (self_mark, 40));
    EQUAL(fd_file_header(&f.recording->file)->steps, 2);
}

/* The wait of another thread is counted at the pause, with its time before the
 * dropped part. */
ABSORBS(dropped_rest_of_a_waiting_thread)
{
    FIXTURE(f, NULL, 4);
    fd_tree *other = fixture_thread(&f, "other");
    CHECK(other != NULL);
    const fd_context *wait =
        fixture_enter_node(other, fixture_function(&f, "wait", 0));
    fd_context *contexts[2] = {NULL, NULL};
    play(&f, fixture_function(&f, "parent", 0),
         fixture_node(&f, FD_NODE_OP, "leaf"), (uint64_t[]){100, 200}, 2,
         contexts);
    fixture_work(7);
    fd_recording_pause(f.recording, true);
    fd_header *header = fd_file_header(&f.recording->file);
    uint64_t covered = other->record->covered;
    uint64_t recorded = header->recorded;
    EQUAL(wait->self, 327);
    fd_steps_drop(&f.steps, 7);
    EQUAL(wait->self, 320);
    EQUAL(other->record->covered, covered - 7);
    EQUAL(header->recorded, recorded - 7);
}
