#include "traces.h"

#include "et/tools/et_estimate.h"

#define T(ts, dur, self) \
    ", \"ts\": " #ts ", \"inclusive_dur\": " #dur ", " \
    "\"exclusive_dur\": " #self
#define K(stream) ", \"cat\": \"kernel\", \"stream\": " #stream
#define ROOT "[pytorch|profiler|execution_trace|thread]"

/*     step [ p [ -- a --- b -- ] - q -- ]   p's own: 10, 10 and 10 us
 */
static void
nested(fd_buffer *text)
{
    traces_more(text, 3, 2, "ProfilerStep#7", T(90, 100, 30));
    traces_more(text, 4, 3, "p", T(100, 60, 30));
    traces_more(text, 5, 4, "a", T(110, 10, 10));
    traces_more(text, 6, 4, "b", T(130, 20, 20));
    traces_more(text, 7, 3, "q", T(165, 10, 10));
}

/* `s` waits for the kernel, and does 10 us more then. */
static void
synced(fd_buffer *text)
{
    traces_more(text, 3, 2, "ProfilerStep#8", T(90, 80, 20));
    traces_more(text, 4, 3, "l", T(90, 14, 14));
    traces_more(text, 5, 4, "k", K(7) T(106, 34, 34));
    traces_more(text, 6, 3, "s", T(105, 45, 45));
    traces_more(text, 7, 3, "n", T(152, 8, 8) ", \"sync_dep\": [5]");
}

/* `p`, then a call whose work another thread does first of all; `q` waits for
 * that, and is seen to go on a moment before it ends; `r` of a third for `q`. */
static void
elsewhere(fd_buffer *text)
{
    traces_more(text, 3, 2, "ProfilerStep#9", T(90, 100, 50));
    traces_more(text, 4, 3, "p", T(90, 40, 40));
    traces_more(text, 5, 3, "c10d::allreduce_", T(130, 5, 5));
    traces_more(text, 6, 1, ROOT, ", \"fd_thread\": 9");
    traces_more(text, 7, 6, "gloo:all_reduce",
                T(140, 40, 40) ", \"fd_thread\": 9");
    traces_more(text, 8, 3, "q", T(178, 5, 5) ", \"fd_given_dep\": [7]");
    traces_more(text, 9, 1, ROOT, ", \"fd_thread\": 10");
    traces_more(text, 10, 9, "r",
                T(185, 4, 4) ", \"fd_thread\": 10, \"fd_given_dep\": [8]");
}

static const struct {
    void (*make)(fd_buffer *text);
    fd_et_scale scale;
    int64_t ns;
} cases[] = {
    {nested, {"none", 0}, 100000},
    {nested, {"p", 0.5}, 70000}, /* with all it encloses */
    {nested, {"b", 0.5}, 90000},
    {nested, {"q", 0}, 90000},
    {nested, {"a", 3}, 120000},
    {synced, {"none", 0}, 80000},
    {synced, {"k", 0.5}, 63000},
    {synced, {"k", 0}, 46000},
    {synced, {"s", 0.5}, 75000}, /* its time after the kernel */
    {synced, {"l", 2}, 114000},  /* and its kernel */
    {elsewhere, {"none", 0}, 100000},
    {elsewhere, {"p", 0.5}, 80000},
    {elsewhere, {"gloo:all_reduce", 0.5}, 80000},
};

/* In a .et roots of threads have times like any other node. */
static fd_status
load(fd_et *et, const fd_buffer *text, bool chakra)
{
    fd_et_format format;
    fd_status status = traces_load(et, "a.json", text, FD_ET_ALL_KINDS, NULL);
    if (status == FD_OK && chakra) {
        status = fd_et_save(et, "a.et", false, NULL);
        fd_et_clear(et);
        *et = (fd_et){.rank = 0};
        status = status == FD_OK
                   ? fd_et_load(et, "a.et", FD_ET_ALL_KINDS, &format, NULL)
                   : status;
    }
    return status;
}

static void
check(bool chakra)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_clear) fd_et et = {.rank = 0};
        CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
        CLEAN(fd_et_estimate_clear) fd_et_estimate e = {.matched = 0};
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        fd_et_changes changes = {&cases[i].scale, 1, 1, 0};
        traces_begin(&text);
        traces_more(&text, 2, 1, ROOT, "");
        cases[i].make(&text);
        traces_end(&text);
        OK(load(&et, &text, chakra));
        OK(fd_et_ranks_add(&ranks, &et));
        OK(fd_et_estimate_make(&et, 1, &ranks, &changes, &e, NULL));
        EQUAL(e.measured_ns, cases[i].make == synced ? 80000 : 100000);
        EQUAL(e.replayed_ns, e.measured_ns);
        EQUAL(e.predicted_ns, cases[i].ns);
        EQUAL(e.steps.count, 1);
        const fd_et_step *step = &e.steps.list[0];
        EQUAL(step->end[FD_ET_REPLAYED] - step->begin[FD_ET_REPLAYED],
              e.measured_ns);
        EQUAL(step->end[FD_ET_PREDICTED] - step->begin[FD_ET_PREDICTED],
              cases[i].ns);
        int64_t sum = 0;
        for (uint32_t k = 0; k < e.path.count; k++) {
            sum += e.path.list[k].ns;
        }
        EQUAL(sum, e.predicted_ns);
    }
}

static void
changed_measured_times(void)
{
    check(false);
}

static void
changed_trace(void)
{
    check(true);
}

RUN(TEST(changed_measured_times), TEST(changed_trace))
