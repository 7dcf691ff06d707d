#include "check.h"
#include "fixtures.h"

static fd_mark_figure
state_of(const fd_trace *trace, const char *name, bool end)
{
    const fd_step_window *window = &trace->ranks.list[0].window;
    uint32_t context = fixture_find(trace, name);
    uint32_t count =
        end ? window->figures_to.count : window->figures_from.count;
    const fd_mark_figure *list =
        end ? window->figures_to.list : window->figures_from.list;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].context == context) {
            return list[i];
        }
    }
    return (fd_mark_figure){.context = 0};
}

static fd_context *
call(fixture *f, const char *name, uint64_t ns)
{
    return fixture_call(f->main, fixture_node(f, FD_NODE_OP, name), ns);
}

/* Six steps of 20 ns after a first one of 900; then more work. */
static void
record(fixture *f)
{
    call(f, "import", 880);
    for (int i = 0; i < 7; i++) {
        call(f, "op", 20)->resumes += i > 3;
        fd_steps_end(&f->steps, f->main, FD_STEPS_EXPLICIT);
    }
    call(f, "op", 5)->resumes += 1;
    call(f, "save", 100);
}

ABSORBS(states_around_settled_steps)
{
    FIXTURE_AND_TRACE(f, trace);
    record(&f);
    OK(fixture_reload(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->marks.count, 6); /* 1, 2, 3, 4, 6 and 7 steps */
    EQUAL(rank->marks.list[0].recorded, 900);
    EQUAL(rank->marks.list[5].recorded, 1020);
    EQUAL(rank->marks.list[5].phases[FD_PHASE_OTHER], 1020);
    EQUAL(rank->window.from, 1);
    EQUAL(rank->window.to, 6);
    EQUAL(state_of(trace, "import", false).self, 880);
    EQUAL(state_of(trace, "import", true).self, 880);
    EQUAL(state_of(trace, "op", false).calls, 1);
    EQUAL(state_of(trace, "op", false).self, 20);
    EQUAL(state_of(trace, "op", false).steps, 1);
    EQUAL(state_of(trace, "op", true).calls, 7);
    EQUAL(state_of(trace, "op", true).resumes, 3);
    EQUAL(state_of(trace, "op", true).self, 140);
    EQUAL(state_of(trace, "op", true).steps, 7);
    EQUAL(state_of(trace, "save", true).calls, 0);
    EQUAL(rank->threads.list[0].covered_from, 900);
    EQUAL(rank->threads.list[0].covered_to, 1020);
    EQUAL(rank->threads.list[0].covered, 1125);
}

/* The whole has less when a process was killed: no state exceeds it. */
ABSORBS(waiting_threads)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fixture_trace_free) fd_trace *live = NULL;
    CLEAN(fixture_trace_free) fd_trace *settled = NULL;
    fd_tree *other = fixture_thread(&f, "other");
    CHECK(other != NULL);
    fixture_work(3);
    fixture_enter_node(other, fixture_node(&f, FD_NODE_OP, "wait"));
    record(&f);
    OK(fixture_reload(&f, &live));
    EQUAL(state_of(live, "wait", true).self, 0);
    fd_tree_settle(other, check_clock_now());
    OK(fixture_reload(&f, &settled));
    EQUAL(state_of(settled, "wait", false).self, 900);
    EQUAL(state_of(settled, "wait", true).self, 1020);
    EQUAL(settled->ranks.list[0].threads.list[1].covered_from, 903);
    EQUAL(settled->ranks.list[0].threads.list[1].covered_to, 1023);
}

/* Snapshots of damaged files and of weaker sources are not used. */
ABSORBS(unusable)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fixture_trace_free) fd_trace *damaged = NULL;
    CLEAN(fixture_trace_free) fd_trace *other = NULL;
    CLEAN(fixture_trace_free) fd_trace *missing = NULL;
    record(&f);
    fd_snapshot *list = f.steps.snapshots.records;
    uint64_t figures = list[5].figures;
    list[5].figures += 1; /* of 6 steps: beyond the file */
    OK(fixture_reload(&f, &missing));
    EQUAL(missing->ranks.list[0].marks.count, 5);
    EQUAL(missing->ranks.list[0].marks.list[4].steps, 7);
    list[5].figures = figures;
    fd_file_header(&f.recording->file)->steps_source = FD_STEPS_ENGINE;
    OK(fixture_reload(&f, &other));
    EQUAL(other->ranks.list[0].marks.count, 0);
    EQUAL(other->ranks.list[0].window.to, 0);
    fd_file_header(&f.recording->file)->steps_source = FD_STEPS_EXPLICIT;
    f.main->chunks.list[0]->magic = 0;
    OK(fixture_reload(&f, &damaged));
    EQUAL(damaged->ranks.list[0].marks.count, 0);
}
