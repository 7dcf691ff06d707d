#include "check.h"
#include "fixtures.h"

#include "trace/canonical_order.h"
#include "trace/dump/dump_reader.h"
#include "trace/trace_merge.h"

#include <stdlib.h>
#include <string.h>

static fd_status
merged(fd_trace **to)
{
    fd_trace *one = NULL;
    fd_trace *two = NULL;
    *to = fd_trace_new();
    fd_status status = *to != NULL ? fixture_trace(&one, 0, "run") : FD_ENOMEM;
    if (status == FD_OK) {
        status = fixture_trace(&two, 1, "run");
    }
    if (status == FD_OK) {
        status = fixture_merge(*to, one, "one", NULL);
    }
    if (status == FD_OK) {
        status = fixture_merge(*to, two, "two", NULL);
    }
    fd_trace_free(one);
    fd_trace_free(two);
    return status == FD_OK ? fd_trace_sort(*to) : status;
}

static bool
same_figures(const fd_trace_rank *a, const fd_trace_rank *b)
{
    return a->figures.count == b->figures.count
        && memcmp(a->figures.list, b->figures.list,
                  a->figures.count * sizeof *a->figures.list)
               == 0;
}

/* load(dump(x)) is x: field by field where a field has no padding, and by its
 * dump, byte by byte, for all. */
static void
round_trip(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fixture_trace_free) fd_trace *again = NULL;
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    bool same;
    OK(merged(&trace));
    OK(fixture_dump(trace, &text));
    OK(fixture_load(&again, text.bytes, text.size, NULL));
    CHECK(fixture_sound(again));
    OK(fixture_same(trace, again, &same));
    CHECK(same);
    EQUAL(again->contexts.count, trace->contexts.count);
    CHECK(memcmp(again->contexts.list, trace->contexts.list,
                 trace->contexts.count * sizeof *trace->contexts.list)
          == 0);
    EQUAL(again->modules.count, trace->modules.count);
    for (uint32_t i = 0; i < 2; i++) {
        const fd_trace_rank *a = &trace->ranks.list[i];
        const fd_trace_rank *b = &again->ranks.list[i];
        CHECK(same_figures(a, b));
        SAME(b->id, a->id);
        CHECK(memcmp(&a->start, &b->start, sizeof a->start) == 0);
        CHECK(memcmp(a->counters, b->counters, sizeof a->counters) == 0);
        CHECK(a->recorded == b->recorded && a->state == b->state);
        EQUAL(b->threads.count, a->threads.count);
    }
}

static void
invalid_dumps(void)
{
    static const struct {
        const char *text;
        fd_status status;
        const char *message;
    } cases[] = {
        {"", FD_EFORMAT, "not valid JSON at byte 0"},
        {"{", FD_EFORMAT, "not valid JSON"},
        {"[]", FD_EFORMAT, "format: not a fastdispatch dump"},
        {"{}", FD_EFORMAT, "format: not a fastdispatch dump"},
        {"{\"format\":7}", FD_EFORMAT, "format: not a fastdispatch dump"},
        {"{\"format\":\"fastdispatch.trace\"}", FD_EFORMAT,
         "version: a whole"},
        {"{\"format\":\"fastdispatch.trace\",\"version\":2}", FD_EVERSION,
         "version 2 of the dump, this fastdispatch reads version 1"},
        {"{\"format\":\"fastdispatch.trace\",\"version\":1}", FD_EFORMAT,
         "strings: an array is missing"},
        {"{\"format\":\"fastdispatch.trace\",\"version\":1} {}", FD_EFORMAT,
         "not valid JSON at byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_trace *trace = NULL;
        fd_error error = {""};
        STATUS(
            fixture_load(&trace, cases[i].text, strlen(cases[i].text), &error),
            cases[i].status);
        CHECK(trace == NULL);
        HAS(error.text, cases[i].message);
    }
    fd_trace *trace = NULL;
    fd_error error;
    STATUS(fd_load(&trace, "absent.json", &error), FD_EIO);
    SAME(error.text, "absent.json: No such file or directory");
    STATUS(fd_load(&trace, ".", &error), FD_EIO);
}

/* A cut document is not JSON; only space may follow a complete one. */
static void
cut_and_continued(void)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(fixture_dump(trace, &text));
    for (size_t size = 0; size < text.size - 1; size += 97) {
        fd_trace *part = NULL;
        STATUS(fixture_load(&part, text.bytes, size, NULL), FD_EFORMAT);
    }
    CLEAN(fixture_trace_free) fd_trace *spaced = NULL;
    fd_trace *twice = NULL;
    size_t size = text.size;
    fd_buffer_text(&text, " \n");
    OK(text.status);
    OK(fixture_load(&spaced, text.bytes, text.size, NULL));
    fd_buffer_bytes(&text, "{}", 2);
    OK(text.status);
    STATUS(fixture_load(&twice, text.bytes, text.size, NULL), FD_EFORMAT);
    CHECK(size > 1000);
}

/* A sum of ranks keeps its spread when it is dumped, loaded and merged. */
static void
sum_of_ranks(void)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fixture_trace_free) fd_trace *again = NULL;
    NEW_TRACE(both);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_error error = {""};
    bool same;
    fd_trace_rank *sum = &trace->ranks.list[0];
    sum->rank = UINT32_MAX;
    sum->reduced = 3;
    sum->whole = 77;
    sum->window.applied = true;
    uint32_t train = fixture_find(trace, "train");
    fd_rank_spread spread = {.context = train,
                             .ranks = 2,
                             .self = {.min = 5, .max = 9, .max_rank = 2},
                             .self_median = 6,
                             .late_squares = 0.5};
    OK(fd_vector_push(&sum->spreads, spread));
    OK(fixture_dump(trace, &text));
    OK(fixture_load(&again, text.bytes, text.size, NULL));
    OK(fixture_merge(both, again, "sum", NULL));
    STATUS(fixture_merge(both, again, "again", &error), FD_ECONFLICT);
    HAS(error.text, "a second sum of ranks");
    OK(fd_trace_sort(both));
    OK(fixture_same(trace, both, &same));
    CHECK(same);
    const fd_trace_rank *rank = &both->ranks.list[0];
    EQUAL(rank->reduced, 3);
    EQUAL(rank->whole, 77);
    CHECK(rank->window.applied);
    EQUAL(rank->spreads.count, 1);
    EQUAL(rank->spreads.list[0].self.max_rank, 2);
    EQUAL(rank->spreads.list[0].self_median, 6);
}

/* Deep nesting uses a bounded stack. */
static void
too_deep(void)
{
    enum { DEPTH = 1000000 };
    char *text = malloc(DEPTH);
    fd_trace *trace = NULL;
    memset(text, '[', DEPTH);
    fd_status arrays = fixture_load(&trace, text, DEPTH, NULL);
    for (size_t i = 0; i + 5 <= DEPTH; i += 5) {
        memcpy(text + i, "{\"a\":", 5);
    }
    fd_status objects = fixture_load(&trace, text, DEPTH, NULL);
    free(text);
    STATUS(arrays, FD_EFORMAT);
    STATUS(objects, FD_EFORMAT);
}

RUN(TEST(round_trip), TEST(sum_of_ranks), TEST(invalid_dumps),
    ONCE(cut_and_continued), TEST(too_deep))
