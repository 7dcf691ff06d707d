#include "check.h"
#include "fixtures.h"

#include "columns/rank_reduction.h"

#include <string.h>

static fd_status
reduced(fd_trace **made, const fd_trace *a, const fd_trace *b)
{
    const fd_trace *const both[] = {a, b};
    return fd_ranks_reduce(made, both, b != NULL ? 2 : 1, "{}", UINT32_MAX);
}

/* Sums, and the ranks with the smallest and the largest value. */
static void
sums(void)
{
    CLEAN(fixture_trace_free) fd_trace *a = NULL;
    CLEAN(fixture_trace_free) fd_trace *b = NULL;
    CLEAN(fixture_trace_free) fd_trace *sum = NULL;
    OK(fixture_trace(&a, 0, NULL));
    OK(fixture_trace(&b, 1, NULL));
    uint32_t train = fixture_find(b, "train");
    for (uint32_t i = 0; i < b->ranks.list[0].figures.count; i++) {
        fd_figure *figure = &b->ranks.list[0].figures.list[i];
        figure->self += figure->context == train ? 100 : 0;
        figure->calls += figure->context == train;
    }
    OK(reduced(&sum, a, b));
    const fd_trace_rank *rank = &sum->ranks.list[0];
    EQUAL(sum->ranks.count, 1);
    EQUAL(rank->rank, FD_RANK_SUM);
    EQUAL(rank->reduced, 2);
    EQUAL(rank->first, 0);
    EQUAL(rank->steps, 4);
    train = fixture_find(sum, "train");
    EQUAL(fixture_figure(sum, 0, train).self, 900);
    for (uint32_t i = 0; i < rank->spreads.count; i++) {
        const fd_rank_spread *spread = &rank->spreads.list[i];
        EQUAL(spread->ranks, 2);
        if (spread->context == train) {
            EQUAL(spread->self.min, 400);
            EQUAL(spread->self.min_rank, 0);
            EQUAL(spread->self.max, 500);
            EQUAL(spread->self.max_rank, 1);
            EQUAL(spread->calls.max_rank, 1);
        }
        else {
            EQUAL(spread->self.max_rank, 0); /* of equal ones the first */
        }
    }
}

/* The sum of sums has the bytes of the sum, in any order; a dump of it
 * loads as it was. */
static void
same_in_any_order(void)
{
    CLEAN(fixture_trace_free) fd_trace *a = NULL;
    CLEAN(fixture_trace_free) fd_trace *b = NULL;
    CLEAN(fixture_trace_free) fd_trace *one = NULL;
    CLEAN(fixture_trace_free) fd_trace *other = NULL;
    CLEAN(fixture_trace_free) fd_trace *sum = NULL;
    CLEAN(fixture_trace_free) fd_trace *again = NULL;
    CLEAN(fixture_trace_free) fd_trace *loaded = NULL;
    CLEAN(fd_buffer_clear) fd_buffer first = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer second = {.bytes = NULL};
    fd_error error = {""};
    OK(fixture_trace(&a, 0, "run"));
    OK(fixture_trace(&b, 1, "run"));
    OK(reduced(&sum, a, b));
    OK(reduced(&one, b, NULL));
    OK(reduced(&other, a, NULL));
    OK(reduced(&again, one, other));
    OK(fixture_dump(sum, &first));
    OK(fixture_dump(again, &second));
    EQUAL(first.size, second.size);
    CHECK(memcmp(first.bytes, second.bytes, first.size) == 0);
    OK(fixture_load(&loaded, first.bytes, first.size, &error));
    second.size = 0;
    OK(fixture_dump(loaded, &second));
    EQUAL(first.size, second.size);
    CHECK(memcmp(first.bytes, second.bytes, first.size) == 0);
}

/* Add memory: 8 blocks and the peak. */
static fd_status
add_memory(fd_trace *trace, uint64_t peak)
{
    fd_trace_rank *rank = &trace->ranks.list[0];
    fd_trace_measure measure = {
        .context = 1, .kind = FD_MEASURE_ALLOCATED, .count = 8, .sum = peak};
    fd_status status = fd_vector_push(&rank->measures, measure);
    measure.kind = FD_MEASURE_PEAK;
    measure.max = peak;
    return status == FD_OK ? fd_vector_push(&rank->measures, measure) : status;
}

/* Memory is that of the rank with the highest peak, of equal ones the
 * lowest rank. */
static void
memory_of_the_highest_peak(void)
{
    static const uint64_t peaks[][2] = {{5, 7}, {7, 5}, {6, 6}};
    static const uint64_t winners[] = {1, 0, 0};
    for (uint32_t i = 0; i < 3; i++) {
        CLEAN(fixture_trace_free) fd_trace *a = NULL;
        CLEAN(fixture_trace_free) fd_trace *b = NULL;
        CLEAN(fixture_trace_free) fd_trace *sum = NULL;
        OK(fixture_trace(&a, 0, "run"));
        OK(fixture_trace(&b, 1, "run"));
        OK(add_memory(a, peaks[i][0]));
        OK(add_memory(b, peaks[i][1]));
        OK(reduced(&sum, a, b));
        const fd_trace_rank *rank = &sum->ranks.list[0];
        uint64_t peak = peaks[i][winners[i]];
        EQUAL(rank->measures.count, 2);
        EQUAL(rank->measures.list[0].sum, peak);
        EQUAL(rank->measures.list[0].count, 8);
        EQUAL(rank->measures.list[1].max, peak);
        EQUAL(rank->measures.list[1].other, winners[i]);
    }
}

RUN(TEST(sums), TEST(same_in_any_order), TEST(memory_of_the_highest_peak))
