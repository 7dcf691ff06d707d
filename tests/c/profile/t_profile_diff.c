#include "check.h"
#include "pictures.h"

#include "profile/profile_diff.h"

#include <string.h>

static const picture_call before[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
    {USER(1, "a.py::step", 10, 1000)},
    {USER(2, "a.py::same", 10, 1000)},
    {USER(2, "a.py::dear", 10, 1000)},
    {USER(2, "a.py::gone", 10, 50)},
    {OP(3, "aten::mm", 10, 1000)},
};
/* All is twice as slow: the machine. `dear` is slower than that. */
static const picture_call after[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
    {USER(1, "a.py::step", 10, 2000)},
    {USER(2, "a.py::same", 10, 2000)},
    {USER(2, "a.py::dear", 10, 4000)},
    {OP(3, "aten::item", 60, 70)},
    {OP(2, "aten::mm", 10, 2000)},
};

typedef struct compared {
    picture before;
    picture after;
    fd_diff diff;
} compared;

static void
compared_clear(compared *c)
{
    fd_diff_clear(&c->diff);
    picture_clear(&c->before);
    picture_clear(&c->after);
}

static fd_status
compare(compared *c, fd_grouping grouping, bool same_speed)
{
    fd_status status = PICTURE_OF(&c->before, before);
    if (status == FD_OK) {
        status = PICTURE_OF(&c->after, after);
    }
    fd_diff_request request = {.sides = {{c->before.trace, FD_ALL_RANKS},
                                         {c->after.trace, FD_ALL_RANKS}},
                               .grouping = grouping,
                               .threshold = 0.1,
                               .same_speed = same_speed};
    return status == FD_OK ? fd_diff_make(&c->diff, &request) : status;
}

static const fd_diff_row *
row_of(const compared *c, const char *key)
{
    static const fd_diff_row none = {.changes = 255};
    for (uint32_t i = 0; i < c->diff.rows.count; i++) {
        const fd_diff_row *row = &c->diff.rows.list[i];
        if (strcmp(fd_text_pool_get(&c->diff.keys, row->key), key) == 0) {
            return row;
        }
    }
    return &none;
}

static void
changes_beyond_the_machine(void)
{
    CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
    OK(compare(&c, FD_BY_NODE, false));
    CHECK(c.diff.speed > 1.999 && c.diff.speed < 2.001);
    EQUAL(row_of(&c, "a.py:[]:step")->changes, 0);
    EQUAL(row_of(&c, "a.py:[]:same")->changes, 0);
    EQUAL(row_of(&c, "a.py:[]:dear")->changes, FD_DIFF_SLOWER);
    EQUAL(row_of(&c, "aten::mm")->changes, 0);
    EQUAL(row_of(&c, "a.py:[]:gone")->changes & FD_DIFF_GONE, FD_DIFF_GONE);
    EQUAL(row_of(&c, "aten::item")->changes & FD_DIFF_NEW, FD_DIFF_NEW);
}

/* Four steps that are alike; `dear` is in that many of them. */
static void
in_steps(fd_trace *trace, uint32_t of_dear)
{
    fd_trace_rank *rank = &trace->ranks.list[0];
    uint32_t dear = fixture_find(trace, "dear");
    rank->steps = 4;
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        fd_figure *figure = &rank->figures.list[i];
        figure->steps = figure->context == dear ? of_dear : 4;
        figure->stepped = figure->self;
        figure->self_min = figure->self_max = figure->self / figure->steps;
    }
}

/* The noise of a function in a single step is unknown. */
static void
one_step_is_not_enough(void)
{
    for (uint32_t steps = 1; steps <= 2; steps++) {
        CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
        OK(PICTURE_OF(&c.before, before));
        OK(PICTURE_OF(&c.after, after));
        in_steps(c.before.trace, steps);
        in_steps(c.after.trace, steps);
        fd_diff_request request = {.sides = {{c.before.trace, FD_ALL_RANKS},
                                             {c.after.trace, FD_ALL_RANKS}},
                                   .threshold = 0.1};
        OK(fd_diff_make(&c.diff, &request));
        EQUAL(row_of(&c, "a.py:[]:dear")->changes,
              steps == 1 ? 0 : FD_DIFF_SLOWER);
        EQUAL(row_of(&c, "a.py:[]:same")->changes, 0);
    }
}

/* Most of the functions are as fast as before: a module that is slower is not
 * the machine, although its time is in that of the modules around it. */
static void
slower_modules_are_not_the_machine(void)
{
    static const picture_call fast[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "a.py::step", 10, 3000)},
        {USER(2, "a.py:GPT:forward", 10, 100), .module = ""},
        {USER(3, "a.py:Block:forward", 10, 1000), .module = "block"},
    };
    static const picture_call slow[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "a.py::step", 10, 3000)},
        {USER(2, "a.py:GPT:forward", 10, 100), .module = ""},
        {USER(3, "a.py:Block:forward", 10, 2000), .module = "block"},
    };
    CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
    OK(PICTURE_OF(&c.before, fast));
    OK(PICTURE_OF(&c.after, slow));
    fd_diff_request request = {.sides = {{c.before.trace, FD_ALL_RANKS},
                                         {c.after.trace, FD_ALL_RANKS}},
                               .grouping = FD_BY_MODULE,
                               .threshold = 0.1};
    OK(fd_diff_make(&c.diff, &request));
    CHECK(c.diff.speed > 0.999 && c.diff.speed < 1.001);
    EQUAL(row_of(&c, "block")->changes, FD_DIFF_SLOWER);
}

/* They happen at any moment: neither rows nor calls of modules change. */
static void
collections_are_not_compared(void)
{
    static const picture_call quiet[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "a.py:Block:forward", 10, 1000), .module = "block"},
    };
    static const picture_call collected[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "a.py:Block:forward", 10, 1000), .module = "block"},
        {OTHER(2, FD_NODE_RANGE, "gc:gen0", 7, 9000), .module = "block"},
        {USER(3, "a.py::ended", 2, 10), .module = "block"},
    };
    CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
    OK(PICTURE_OF(&c.before, quiet));
    OK(PICTURE_OF(&c.after, collected));
    fd_diff_request request = {.sides = {{c.before.trace, FD_ALL_RANKS},
                                         {c.after.trace, FD_ALL_RANKS}},
                               .threshold = 0.1};
    OK(fd_diff_make(&c.diff, &request));
    EQUAL(row_of(&c, "gc:gen0")->changes, FD_DIFF_COLLECTION);
    uint32_t apart = 0;
    for (uint32_t i = 0; i < c.diff.calls.count; i++) {
        apart += c.diff.calls.list[i].changes == FD_DIFF_COLLECTION;
    }
    EQUAL(apart, 2);
    fd_diff_clear(&c.diff);
    request.grouping = FD_BY_MODULE;
    OK(fd_diff_make(&c.diff, &request));
    CHECK(row_of(&c, "block")->side[1].calls < 12.5);
}

static void
ranks_of_one_run_share_no_speed(void)
{
    CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
    OK(compare(&c, FD_BY_NODE, true));
    EQUAL(row_of(&c, "a.py:[]:same")->changes, FD_DIFF_SLOWER);
}

static void
calls_by_their_ends(void)
{
    CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
    uint32_t fresh = 0;
    uint32_t gone = 0;
    uint32_t same = 0;
    OK(compare(&c, FD_BY_NODE, false));
    for (uint32_t i = 0; i < c.diff.calls.count; i++) {
        const fd_diff_call *call = &c.diff.calls.list[i];
        CHECK(call->callee > 0 && call->callee <= c.diff.rows.count);
        CHECK(call->caller <= c.diff.rows.count);
        fresh += (call->changes & FD_DIFF_NEW) != 0;
        gone += (call->changes & FD_DIFF_GONE) != 0;
        same += call->changes == 0;
    }
    EQUAL(fresh, 2); /* dear -> item, step -> mm */
    EQUAL(gone, 2);  /* step -> gone, gone -> mm */
    EQUAL(same, 4);  /* the threads have no calls */
}

/* In selected steps a call that is missing on one side may be rare: `gone` was
 * called 10 times in 100 steps, of 20 on the other side none. */
static void
rare_calls_of_selected_steps(void)
{
    for (uint64_t other = 20; other <= 40; other += 20) {
        CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
        OK(PICTURE_OF(&c.before, before));
        OK(PICTURE_OF(&c.after, after));
        c.before.trace->ranks.list[0].steps = 100;
        c.after.trace->ranks.list[0].steps = other;
        c.before.trace->ranks.list[0].window.applied = true;
        c.after.trace->ranks.list[0].window.applied = true;
        fd_diff_request request = {.sides = {{c.before.trace, FD_ALL_RANKS},
                                             {c.after.trace, FD_ALL_RANKS}},
                                   .grouping = FD_BY_NODE,
                                   .threshold = 0.1};
        OK(fd_diff_make(&c.diff, &request));
        EQUAL(row_of(&c, "a.py:[]:gone")->changes & FD_DIFF_GONE,
              other == 40 ? FD_DIFF_GONE : 0);
        EQUAL(row_of(&c, "aten::item")->changes & FD_DIFF_NEW, FD_DIFF_NEW);
    }
}

/* One rank waits 300 ns more for another one, and the other functions are as
 * fast as before; then the thread was busy for longer by a tenth only. */
static void
waits_are_not_the_machine(void)
{
    static const picture_call quick[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "a.py::step", 10, 1000)},
        {USER(2, "a.py::engine", 10, 3000)},
    };
    static const picture_call late[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "a.py::step", 10, 1000)},
        {USER(2, "a.py::engine", 10, 6000)},
    };
    for (int busy = 0; busy < 2; busy++) {
        CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
        OK(PICTURE_OF(&c.before, quick));
        OK(PICTURE_OF(&c.after, late));
        uint8_t waits[3] = {0, 0, 0};
        EQUAL(c.before.trace->nodes.count - 1, sizeof waits);
        uint32_t engine = fixture_find(c.before.trace, "engine");
        waits[c.before.trace->contexts.list[engine].node - 1] =
            busy ? FD_DIFF_WORKS : FD_DIFF_FOR_RANKS;
        fd_diff_request request = {.sides = {{c.before.trace, FD_ALL_RANKS},
                                             {c.after.trace, FD_ALL_RANKS}},
                                   .grouping = FD_BY_NODE,
                                   .waits = {waits, waits},
                                   .busy = {busy ? 1000 : 0, 1100},
                                   .threshold = 0.1};
        OK(fd_diff_make(&c.diff, &request));
        const fd_diff_row *step = row_of(&c, "a.py:[]:step");
        double speed = busy ? 1.1 : 1;
        CHECK(c.diff.speed > speed - 0.001 && c.diff.speed < speed + 0.001);
        EQUAL(step->side[1].work, busy ? 7000 : 1000);
        EQUAL(row_of(&c, "a.py:[]:engine")->changes,
              FD_DIFF_SLOWER | (busy ? 0 : FD_DIFF_COMMUNICATES));
    }
}

/* The fastest steps are equal, the mean is twice as long: the thread is blocked
 * in some steps, was preempted in some, or was blocked in one of them. */
static void
locks_that_are_free_in_some_steps(void)
{
    static const picture_call lock[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "a.py::step", 10, 50000)},
        {USER(2, "a.py::lock", 10, 1000)},
    };
    for (int kind = 0; kind < 3; kind++) {
        CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
        OK(PICTURE_OF(&c.before, lock));
        OK(PICTURE_OF(&c.after, lock));
        for (int side = 0; side < 2; side++) {
            fd_trace *trace = side == 0 ? c.before.trace : c.after.trace;
            uint32_t place = fixture_find(trace, "lock");
            fd_trace_rank *rank = &trace->ranks.list[0];
            rank->steps = 10;
            rank->window.applied = true;
            for (uint32_t i = 0; i < rank->figures.count; i++) {
                fd_figure *figure = &rank->figures.list[i];
                bool longer = side == 1 && figure->context == place;
                figure->steps = 10;
                figure->self_min = figure->self / 10;
                figure->self += longer ? 10000 : 0;
                figure->self_squares = longer && kind == 2 ? 1e8 : 0;
            }
        }
        fd_diff_request request = {.sides = {{c.before.trace, FD_ALL_RANKS},
                                             {c.after.trace, FD_ALL_RANKS}},
                                   .grouping = FD_BY_NODE,
                                   .busy = {5100, 5100},
                                   .idle = {0, kind == 1 ? 0 : 1000},
                                   .threshold = 0.1};
        OK(fd_diff_make(&c.diff, &request));
        EQUAL(row_of(&c, "a.py:[]:lock")->changes,
              kind == 0 ? FD_DIFF_SLOWER : 0);
    }
}

/* The same number of calls in few of the steps. */
static void
calls_in_few_steps(void)
{
    for (uint32_t active = 1; active <= 4; active += 3) {
        CLEAN(compared_clear) compared c = {.before = {.trace = NULL}};
        OK(PICTURE_OF(&c.before, before));
        OK(PICTURE_OF(&c.after, after));
        for (int side = 0; side < 2; side++) {
            fd_trace_rank *rank = side == 0 ? &c.before.trace->ranks.list[0]
                                            : &c.after.trace->ranks.list[0];
            rank->steps = 4;
            rank->window.applied = true;
            for (uint32_t i = 0; i < rank->figures.count; i++) {
                rank->figures.list[i].steps = active;
            }
        }
        fd_diff_request request = {.sides = {{c.before.trace, FD_ALL_RANKS},
                                             {c.after.trace, FD_ALL_RANKS}},
                                   .grouping = FD_BY_NODE,
                                   .threshold = 0.1};
        OK(fd_diff_make(&c.diff, &request));
        EQUAL(row_of(&c, "aten::item")->changes & FD_DIFF_NEW,
              active == 1 ? 0 : FD_DIFF_NEW);
    }
}

RUN(TEST(waits_are_not_the_machine), TEST(calls_in_few_steps),
    TEST(locks_that_are_free_in_some_steps), TEST(changes_beyond_the_machine),
    TEST(one_step_is_not_enough), TEST(slower_modules_are_not_the_machine),
    TEST(collections_are_not_compared), TEST(ranks_of_one_run_share_no_speed),
    TEST(calls_by_their_ends), TEST(rare_calls_of_selected_steps))
