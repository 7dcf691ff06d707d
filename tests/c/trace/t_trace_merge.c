#include "check.h"
#include "fixtures.h"

#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

#include <string.h>

typedef struct three {
    fd_trace *of[3]; /* owned */
} three;

static void
three_free(three *t)
{
    for (int i = 0; i < 3; i++) {
        fd_trace_free(t->of[i]);
    }
}

/* Three ranks that differ: the last has a function that only it calls. */
static fd_status
three_make(three *t)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < 3 && status == FD_OK; i++) {
        status = fixture_trace(&t->of[i], i, "run");
    }
    if (status == FD_OK) {
        fd_trace *last = t->of[2];
        fd_figure figure = {.calls = 9, .self = 99};
        fd_trace_context context = last->contexts.list[1];
        context.parent = fixture_find(last, "step");
        figure.context = last->contexts.count;
        status = fd_vector_push(&last->contexts, context);
        if (status == FD_OK) {
            status = fd_vector_push(&last->ranks.list[0].figures, figure);
        }
    }
    return status;
}

/* Merge in this order; with `nested` the first two are merged and sorted
 * before, as a merge of a merge. */
static fd_status
merged(fd_trace **to, fd_trace *const *from, const int *order, bool nested)
{
    *to = fd_trace_new();
    fd_trace *part = fd_trace_new();
    fd_status status = *to == NULL || part == NULL ? FD_ENOMEM : FD_OK;
    for (int i = 0; i < 3 && status == FD_OK; i++) {
        bool inner = nested && i < 2;
        status = fd_merge_add(inner ? part : *to, from[order[i]], "x", NULL);
    }
    if (status == FD_OK && nested) {
        status = fd_trace_sort(part);
        if (status == FD_OK) {
            status = fd_merge_add(*to, part, "part", NULL);
        }
    }
    fd_trace_free(part);
    return status == FD_OK ? fd_trace_sort(*to) : status;
}

static void
any_order_any_grouping(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    CLEAN(three_free) three t = {{NULL, NULL, NULL}};
    CLEAN(fixture_trace_free) fd_trace *first = NULL;
    OK(three_make(&t));
    OK(merged(&first, t.of, orders[0], false));
    EQUAL(first->ranks.count, 3);
    CHECK(fixture_sound(first));
    for (int i = 0; i < 12; i++) {
        CLEAN(fixture_trace_free) fd_trace *other = NULL;
        bool same;
        OK(merged(&other, t.of, orders[i / 2], i % 2 == 1));
        OK(fixture_same(first, other, &same));
        CHECK(same);
    }
}

/* Every rank keeps its figures. */
static void
figures_stay(void)
{
    CLEAN(three_free) three t = {{NULL, NULL, NULL}};
    CLEAN(fixture_trace_free) fd_trace *all = NULL;
    OK(three_make(&t));
    OK(merged(&all, t.of, (int[]){2, 0, 1}, false));
    for (uint32_t rank = 0; rank < 3; rank++) {
        EQUAL(all->ranks.list[rank].rank, rank);
        uint32_t linear = fixture_find(all, "aten::linear");
        EQUAL(fixture_figure(all, rank, linear).self, 100);
        EQUAL(all->ranks.list[rank].figures.count,
              t.of[rank]->ranks.list[0].figures.count);
        SAME(fd_merge_run_id(all, &all->ranks.list[rank]), "\"run\"");
    }
    EQUAL(all->contexts.count, t.of[2]->contexts.count);
}

static void
same_rank_twice(void)
{
    CLEAN(fixture_trace_free) fd_trace *one = NULL;
    CLEAN(fixture_trace_free) fd_trace *into = fd_trace_new();
    OK(into != NULL ? FD_OK : FD_ENOMEM);
    fd_error error;
    OK(fixture_trace(&one, 4, NULL));
    OK(fd_merge_add(into, one, "a.fd", &error));
    uint32_t contexts = into->contexts.count;
    STATUS(fd_merge_add(into, one, "b.fd", &error), FD_ECONFLICT);
    SAME(error.text, "b.fd: rank 4 is there already (recording 05ababab, this "
                     "one is 05ababab): give one of them");
    EQUAL(into->ranks.count, 1);
    EQUAL(into->contexts.count, contexts);
}

static void
foreign_run(void)
{
    CLEAN(fixture_trace_free) fd_trace *one = NULL;
    CLEAN(fixture_trace_free) fd_trace *two = NULL;
    CLEAN(fixture_trace_free) fd_trace *free_one = NULL;
    CLEAN(fixture_trace_free) fd_trace *into = fd_trace_new();
    OK(into != NULL ? FD_OK : FD_ENOMEM);
    fd_error error;
    OK(fixture_trace(&one, 0, "monday"));
    OK(fixture_trace(&two, 1, "tuesday"));
    OK(fixture_trace(&free_one, 2, NULL));
    OK(fd_merge_add(into, one, "a.fd", &error));
    STATUS(fd_merge_add(into, two, "b.fd", &error), FD_ECONFLICT);
    SAME(error.text, "b.fd: rank 1 belongs to run \"tuesday\", the others to "
                     "run \"monday\": merge one run at a time");
    OK(fd_merge_add(into, free_one, "c.fd", &error));
    SAME(fd_merge_run_id(free_one, &free_one->ranks.list[0]), "");
}

static void
nothing_and_something(void)
{
    CLEAN(fixture_trace_free) fd_trace *one = NULL;
    CLEAN(fixture_trace_free) fd_trace *into = fd_trace_new();
    CLEAN(fixture_trace_free) fd_trace *none = fd_trace_new();
    OK(into != NULL && none != NULL ? FD_OK : FD_ENOMEM);
    bool same;
    OK(fixture_trace(&one, 0, NULL));
    OK(fd_merge_add(into, none, "none", NULL));
    OK(fd_merge_add(into, one, "one", NULL));
    OK(fd_merge_add(into, none, "none", NULL));
    OK(fd_trace_sort(into));
    OK(fixture_same(into, one, &same));
    CHECK(same);
}

RUN(TEST(any_order_any_grouping), TEST(figures_stay), TEST(same_rank_twice),
    TEST(foreign_run), TEST(nothing_and_something))
