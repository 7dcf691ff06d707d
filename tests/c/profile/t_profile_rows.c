#include "check.h"
#include "fixtures.h"

#include "profile/profile_rows.h"

#include <math.h>
#include <string.h>

static void
rows_clear(fd_rows *rows)
{
    fd_vector_clear(rows);
}

static const fd_row *
row_of(const fd_rows *rows, const fd_groups *groups, const char *label)
{
    for (uint32_t i = 1; i < rows->count; i++) {
        if (strcmp(
                fd_text_pool_get(&groups->labels, groups->list.list[i].label),
                label)
            == 0) {
            return &rows->list[i];
        }
    }
    return &rows->list[0];
}

static fd_status
table(const fd_trace *trace, fd_grouping grouping, fd_groups *groups,
      fd_rows *rows)
{
    fd_totals totals;
    fd_status status = fd_totals_sum(&totals, trace, FD_ALL_RANKS, false);
    fd_then(status, fd_groups_make(groups, trace, grouping));
    fd_then(status, fd_rows_sum(rows, trace, groups, &totals));
    fd_totals_clear(&totals);
    return status;
}

TEST(rows_of_a_recording)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL};
    CLEAN(rows_clear) fd_rows rows = {NULL, 0, 0};
    OK(table(trace, FD_BY_NODE, &groups, &rows));
    const fd_row *linear = row_of(&rows, &groups, "aten::linear");
    FIELDS(linear, (calls, 4), (self, 220), (total, 220), (ops, 4),
           (backward, 350));
    CHECK(fabs(linear->step_mean - 110) < 1e-9);
    CHECK(fabs(linear->step_deviation) < 1e-6);
    const fd_row *train = row_of(&rows, &groups, "train.py:[]:train");
    FIELDS(train, (total, 950), (calls, 1));
    CHECK(fabs(train->step_mean - 475) < 1e-9);
    EQUAL(rows.list[0].calls, 0);
}

/* Self times of all groups are the time of all threads. */
TEST(self_times_partition)
{
    TRAINED_TRACE(trace, 0, NULL);
    for (fd_grouping by = FD_BY_NODE; by <= FD_BY_PACKAGE;
         by = by == FD_BY_NODE ? FD_BY_PACKAGE : by + 1) {
        CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL};
        CLEAN(rows_clear) fd_rows rows = {NULL, 0, 0};
        uint64_t sum = 0;
        OK(table(trace, by, &groups, &rows));
        for (uint32_t i = 1; i < rows.count; i++) {
            sum += rows.list[i].self;
        }
        EQUAL(sum, 1900);
    }
}

/* Inside a call of its own group a total is not added again. */
TEST(recursion_counts_once)
{
    NEW_TRACE(trace);
    CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL};
    CLEAN(rows_clear) fd_rows rows = {NULL, 0, 0};
    uint32_t f;
    uint32_t g;
    uint32_t inner;
    OK(fixture_add(trace, 0, FD_NODE_PYTHON, "f", 1, 10, &f));
    OK(fixture_add(trace, f, FD_NODE_PYTHON, "g", 2, 20, &g));
    OK(fixture_add(trace, g, FD_NODE_PYTHON, "f", 4, 40, &inner));
    trace->contexts.list[inner].flags = FD_CONTEXT_HIDDEN;
    OK(table(trace, FD_BY_NODE, &groups, &rows));
    const fd_row *row = row_of(&rows, &groups, ":[]:f");
    FIELDS(row, (calls, 5), (self, 50), (total, 70), (hidden, 4));
    EQUAL(row_of(&rows, &groups, ":[]:g")->total, 60);
}

/* 30 and 10 in two of four steps: mean 10, deviation sqrt(150). */
TEST(quiet_steps_count)
{
    NEW_TRACE(trace);
    CLEAN(fd_groups_clear) fd_groups groups = {.of_context = NULL};
    CLEAN(rows_clear) fd_rows rows = {NULL, 0, 0};
    uint32_t id;
    OK(fixture_add(trace, 0, FD_NODE_OP, "op", 2, 40, &id));
    fd_figure *figure = &trace->ranks.list[0].figures.list[0];
    figure->stepped = 40;
    figure->steps = 2;
    figure->total_squares = 30. * 30 + 10 * 10;
    trace->ranks.list[0].steps = 4;
    OK(table(trace, FD_BY_NODE, &groups, &rows));
    CHECK(fabs(rows.list[1].step_mean - 10) < 1e-9);
    CHECK(fabs(rows.list[1].step_deviation - sqrt(150)) < 1e-9);
}
