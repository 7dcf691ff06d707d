#include "check.h"
#include "fixtures.h"

#include "trace/canonical_order.h"
#include "trace/step_window.h"

#include <math.h>

/* 8 of 10 calls of "op" are in the selected steps, all of "import" before. */
static fd_status
make(fd_trace **trace)
{
    uint32_t import = 0;
    uint32_t op = 0;
    fd_trace *made = fd_trace_new();
    *trace = made;
    fd_status status = made == NULL ? FD_ENOMEM : FD_OK;
    fd_then(status,
            fixture_add(made, 0, FD_NODE_OP, "import", 1, 500, &import));
    fd_then(status, fixture_add(made, 0, FD_NODE_OP, "op", 10, 100, &op));
    if (status != FD_OK) {
        return status;
    }
    fd_trace_rank *rank = &made->ranks.list[0];
    rank->recorded = 700;
    rank->steps = 5;
    status |= fd_vector_push(
        &rank->marks,
        ((fd_trace_mark){
            .number = 0, .steps = 1, .end = 510, .recorded = 510}));
    status |= fd_vector_push(
        &rank->marks,
        ((fd_trace_mark){
            .number = 4, .steps = 5, .end = 610, .recorded = 600}));
    status |= fd_vector_push(
        &rank->window.figures_from,
        ((fd_mark_figure){.context = import, .calls = 1, .self = 500}));
    status |= fd_vector_push(
        &rank->window.figures_from,
        ((fd_mark_figure){.context = op, .calls = 1, .self = 10}));
    status |= fd_vector_push(
        &rank->window.figures_to,
        ((fd_mark_figure){.context = import, .calls = 1, .self = 500}));
    status |= fd_vector_push(&rank->window.figures_to,
                             ((fd_mark_figure){.context = op,
                                               .steps = 4,
                                               .calls = 9,
                                               .self = 90,
                                               .self_squares = 2500}));
    for (uint64_t i = 0; i < 5; i++) {
        status |= fd_vector_push(
            &rank->latest,
            ((fd_trace_step){.number = i, .end = 510 + 25 * i}));
    }
    status |=
        fd_vector_push(&rank->threads, ((fd_trace_thread){.covered = 650,
                                                          .self = 650,
                                                          .cpu = 300,
                                                          .covered_from = 510,
                                                          .covered_to = 600,
                                                          .cpu_from = 200,
                                                          .cpu_to = 260}));
    return status == FD_OK ? fd_trace_sort(made) : FD_ENOMEM;
}

TEST(differences)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(make(&trace));
    trace->ranks.list[0].window.from = 1;
    trace->ranks.list[0].window.to = 2;
    OK(fd_window_apply(&trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(fixture_find(trace, "import"), 0);
    fd_figure figure = fixture_figure(trace, 0, fixture_find(trace, "op"));
    FIELDS(&figure, (calls, 8), (self, 80), (stepped, 80), (steps, 4),
           (self_squares, 2500));
    FIELDS(rank, (steps, 4), (recorded, 90), (whole, 700), (latest.count, 4),
           (latest.list[0].number, 1), (threads.list[0].covered, 90),
           (threads.list[0].self, 90), (threads.list[0].cpu, 60));
    CHECK(rank->window.applied);
    CHECK(fixture_sound(trace));
}

/* From the start of the recording; a second request changes nothing. */
TEST(from_the_start)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(make(&trace));
    trace->ranks.list[0].window.figures_from.count = 0;
    trace->ranks.list[0].threads.list[0].covered_from = 0;
    trace->ranks.list[0].window.to = 2;
    OK(fd_window_apply(&trace));
    OK(fd_window_apply(&trace));
    fd_figure figure = fixture_figure(trace, 0, fixture_find(trace, "import"));
    EQUAL(figure.self, 500);
    FIELDS(&trace->ranks.list[0], (steps, 5), (recorded, 600),
           (latest.count, 5), (threads.list[0].self, 600));
}

/* If one rank has no steps, all stay whole. */
TEST(undecided_ranks)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(make(&trace));
    trace->ranks.list[0].window.to = 2;
    CHECK(fd_trace_add_rank(trace) != NULL);
    OK(fd_window_apply(&trace));
    CHECK(!trace->ranks.list[0].window.applied);
    EQUAL(trace->ranks.list[0].recorded, 700);
    CHECK(fixture_find(trace, "import") != 0);
}

/* The same as the reduced trace, beside the whole one. */
TEST(settled_steps_and_all_steps)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fixture_trace_free) fd_trace *settled = NULL;
    OK(make(&trace));
    trace->ranks.list[0].window.from = 1;
    trace->ranks.list[0].window.to = 2;
    OK(fd_window_settled(&settled, trace));
    CHECK(!trace->ranks.list[0].window.applied);
    EQUAL(trace->ranks.list[0].recorded, 700);
    OK(fd_window_apply(&trace));
    CHECK(fixture_same(trace, settled));
}

/* Marks whose steps since the mark before took these times each. */
static fd_trace_rank
rank_of(const uint64_t *steps, const uint64_t *each, uint32_t count)
{
    fd_trace_rank rank = {.timing = 1};
    fd_trace_mark mark = {.number = 0};
    for (uint32_t i = 0; i < count; i++) {
        mark.recorded += each[i] * (steps[i] - mark.steps);
        mark.steps = steps[i];
        mark.number = steps[i] - 1;
        if (fd_vector_push(&rank.marks, mark) != FD_OK) {
            break;
        }
    }
    rank.steps = mark.steps;
    return rank;
}

static const uint64_t STEPS[] = {1, 2, 3, 4, 6, 8, 12, 13};
enum { COUNT = sizeof STEPS / sizeof *STEPS };

ABSORBS(first_steps_are_skipped)
{
    CLEAN(fd_trace_rank_clear)
    fd_trace_rank rank =
        rank_of(STEPS, (uint64_t[]){900, 300, 10, 11, 9, 10, 10, 12}, COUNT);
    CHECK(rank.marks.count == COUNT);
    fd_settled found = fd_settle(&rank);
    FIELDS(&found, (verdict, FD_SETTLING_DONE), (from, 2), (to, COUNT));
    CHECK(fabs(found.slower - 600 / (111. / 11)) < 1e-9);
}

/* Never more than half of the steps. */
ABSORBS(varying_times)
{
    CLEAN(fd_trace_rank_clear)
    fd_trace_rank rank =
        rank_of(STEPS, (uint64_t[]){10, 30, 10, 30, 10, 30, 10, 90}, COUNT);
    CHECK(rank.marks.count == COUNT);
    fd_settled found = fd_settle(&rank);
    FIELDS(&found, (verdict, FD_SETTLING_VARYING), (from, 5));
    EQUAL(rank.marks.list[found.from - 1].steps, 6);
}

ABSORBS(not_decided)
{
    CLEAN(fd_trace_rank_clear)
    fd_trace_rank few = rank_of(STEPS, (uint64_t[]){9, 9, 9}, 3);
    CLEAN(fd_trace_rank_clear)
    fd_trace_rank untimed = rank_of(STEPS, (uint64_t[]){0, 0, 0, 0, 0}, 5);
    CHECK(few.marks.count == 3 && untimed.marks.count == 5);
    fd_trace_rank unmarked = {.steps = 40};
    EQUAL(fd_settle(&few).verdict, FD_SETTLING_FEW);
    EQUAL(fd_settle(&untimed).verdict, FD_SETTLING_UNTIMED);
    EQUAL(fd_settle(&unmarked).verdict, FD_SETTLING_UNMARKED);
    EQUAL(fd_settle(&unmarked).to, 0);
    fd_steps_choose(&few, NULL);
    EQUAL(few.window.to, 0);
}

/* The nearest snapshots; at least one step. */
ABSORBS(ranges)
{
    CLEAN(fd_trace_rank_clear)
    fd_trace_rank rank =
        rank_of(STEPS, (uint64_t[]){9, 9, 9, 9, 9, 9, 9, 9}, COUNT);
    CHECK(rank.marks.count == COUNT);
    static const struct {
        uint64_t first;
        uint64_t last;
        uint32_t from;
        uint32_t to;
    } cases[] = {{0, 12, 0, 8}, {0, 0, 0, 1},   {1, 3, 1, 4},  {5, 9, 4, 6},
                 {7, 7, 5, 6},  {12, 12, 7, 8}, {90, 99, 7, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_steps_wanted wanted = {true, cases[i].first, cases[i].last};
        fd_steps_choose(&rank, &wanted);
        FIELDS(&rank.window, (from, cases[i].from), (to, cases[i].to));
    }
}
