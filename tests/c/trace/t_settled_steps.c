#include "check.h"

#include "trace/settled_steps.h"

#include <math.h>

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

static void
first_steps_are_skipped(void)
{
    CLEAN(fd_trace_rank_clear)
    fd_trace_rank rank =
        rank_of(STEPS, (uint64_t[]){900, 300, 10, 11, 9, 10, 10, 12}, COUNT);
    CHECK(rank.marks.count == COUNT);
    fd_settled found = fd_settle(&rank);
    EQUAL(found.verdict, FD_SETTLING_DONE);
    EQUAL(found.from, 2);
    EQUAL(found.to, COUNT);
    CHECK(fabs(found.slower - 600 / (111. / 11)) < 1e-9);
}

/* Never more than half of the steps. */
static void
varying_times(void)
{
    CLEAN(fd_trace_rank_clear)
    fd_trace_rank rank =
        rank_of(STEPS, (uint64_t[]){10, 30, 10, 30, 10, 30, 10, 90}, COUNT);
    CHECK(rank.marks.count == COUNT);
    fd_settled found = fd_settle(&rank);
    EQUAL(found.verdict, FD_SETTLING_VARYING);
    EQUAL(found.from, 5);
    EQUAL(rank.marks.list[found.from - 1].steps, 6);
}

static void
not_decided(void)
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
static void
ranges(void)
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
        EQUAL(rank.window.from, cases[i].from);
        EQUAL(rank.window.to, cases[i].to);
    }
}

RUN(ABSORBS(first_steps_are_skipped), ABSORBS(varying_times),
    ABSORBS(not_decided), ABSORBS(ranges))
