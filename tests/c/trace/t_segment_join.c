#include "check.h"
#include "fixtures.h"

#include "trace/canonical_order.h"
#include "trace/segment_join.h"
#include "trace/trace_merge.h"

#include <string.h>

/* Segments of one recording, in this order, and whether all are expected. */
static fd_status
joined(fd_trace **to, const uint32_t *segments, uint32_t count, bool all)
{
    *to = fd_trace_new();
    fd_status status = *to != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        fd_trace *one = NULL;
        status = fixture_trace(&one, 0, "run");
        if (status == FD_OK) {
            fd_trace_rank *rank = &one->ranks.list[0];
            rank->segment = segments[i];
            rank->segments = 1;
            rank->start.realtime_ns = 1000 * (uint64_t)segments[i];
            status = fd_merge_add(*to, one, "x", NULL);
        }
        fd_trace_free(one);
    }
    status = status == FD_OK ? fd_segments_join(*to, all) : status;
    return status == FD_OK ? fd_trace_sort(*to) : status;
}

static const char *
fact(const fd_trace *trace, const char *key)
{
    const fd_trace_rank *rank = &trace->ranks.list[0];
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        if (strcmp(fd_trace_text(trace, rank->meta.list[i].key), key) == 0) {
            return fd_trace_text(trace, rank->meta.list[i].json);
        }
    }
    return "";
}

static void
segments_add_up(void)
{
    CLEAN(fixture_trace_free) fd_trace *one = NULL;
    CLEAN(fixture_trace_free) fd_trace *three = NULL;
    OK(fixture_trace(&one, 0, "run"));
    OK(joined(&three, (uint32_t[]){3, 1, 2}, 3, true));
    EQUAL(three->ranks.count, 1);
    CHECK(fixture_sound(three));
    const fd_trace_rank *rank = &three->ranks.list[0];
    const fd_trace_rank *each = &one->ranks.list[0];
    uint32_t linear = fixture_find(three, "aten::linear");
    EQUAL(fixture_figure(three, 0, linear).calls,
          3 * fixture_figure(one, 0, linear).calls);
    EQUAL(fixture_figure(three, 0, linear).self, 300);
    EQUAL(rank->figures.count, each->figures.count);
    EQUAL(rank->steps, 3 * each->steps);
    EQUAL(rank->recorded, 3 * each->recorded);
    EQUAL(rank->threads.count, each->threads.count);
    EQUAL(rank->latest.count, 3 * each->latest.count);
    EQUAL(rank->latest.list[each->latest.count].begin,
          each->latest.list[0].begin + 1000);
    EQUAL(rank->marks.count, 0);
    CHECK(!rank->incomplete);
    SAME(fact(three, FD_SEGMENTS_FACT), "{\"last\": 3, \"read\": 3}");
}

static void
order_does_not_matter(void)
{
    CLEAN(fixture_trace_free) fd_trace *one = NULL;
    CLEAN(fixture_trace_free) fd_trace *other = NULL;
    bool same;
    OK(joined(&one, (uint32_t[]){1, 2, 3}, 3, true));
    OK(joined(&other, (uint32_t[]){3, 2, 1}, 3, true));
    OK(fixture_same(one, other, &same));
    CHECK(same);
}

static void
lost_segments_are_noted(void)
{
    CLEAN(fixture_trace_free) fd_trace *some = NULL;
    CLEAN(fixture_trace_free) fd_trace *current = NULL;
    OK(joined(&some, (uint32_t[]){3, 5}, 2, true));
    CHECK(some->ranks.list[0].incomplete);
    EQUAL(some->ranks.list[0].notes.count, 1);
    SAME(fd_trace_text(some, some->ranks.list[0].notes.list[0]),
         "3 of its 5 segments were removed or are missing");
    OK(joined(&current, (uint32_t[]){5}, 1, false));
    CHECK(!current->ranks.list[0].incomplete);
}

static void
a_segment_twice(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    STATUS(joined(&trace, (uint32_t[]){2, 2}, 2, true), FD_ECONFLICT);
}

/* Steps of an optimizer before those of step() are not counted. */
static void
stronger_steps(void)
{
    CLEAN(fixture_trace_free) fd_trace *first = NULL;
    CLEAN(fixture_trace_free) fd_trace *second = NULL;
    CLEAN(fixture_trace_free) fd_trace *both = fd_trace_new();
    OK(both != NULL ? FD_OK : FD_ENOMEM);
    OK(fixture_trace(&first, 0, "run"));
    OK(fixture_trace(&second, 0, "run"));
    fd_trace_rank *a = &first->ranks.list[0];
    fd_trace_rank *b = &second->ranks.list[0];
    a->segment = 1;
    b->segment = 2;
    a->steps_source = FD_STEPS_OPTIMIZER;
    b->steps_source = FD_STEPS_EXPLICIT;
    OK(fd_merge_add(both, first, "a", NULL));
    OK(fd_merge_add(both, second, "b", NULL));
    OK(fd_segments_join(both, false));
    EQUAL(both->ranks.list[0].steps, b->steps);
    EQUAL(both->ranks.list[0].latest.count, b->latest.count);
    EQUAL(both->ranks.list[0].steps_source, FD_STEPS_EXPLICIT);
}

RUN(TEST(segments_add_up), TEST(order_does_not_matter),
    TEST(lost_segments_are_noted), TEST(a_segment_twice), TEST(stronger_steps))
