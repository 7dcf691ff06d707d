#include "traces.h"

#include "et/tools/et_estimate.h"

#include <string.h>

#define T(ts, dur, self) \
    ", \"ts\": " #ts ", \"inclusive_dur\": " #dur ", " \
    "\"exclusive_dur\": " #self
#define K(stream) ", \"cat\": \"kernel\", \"stream\": " #stream

/* Two operators that launch kernels of 50 us each on one stream; the thread is
 * bounds of them, and waits for the second. */
static fd_status
make(fd_et *et)
{
    fd_buffer text = {.bytes = NULL};
    traces_begin(&text);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    traces_more(&text, 3, 2, "a", T(100, 10, 10));
    traces_more(&text, 4, 3, "k", K(7) T(105, 50, 50));
    traces_more(&text, 5, 2, "b", T(115, 10, 10));
    traces_more(&text, 6, 5, "m", K(7) T(155, 50, 50));
    traces_more(&text, 7, 2, "c", T(210, 10, 10) ", \"sync_dep\": [6]");
    traces_end(&text);
    fd_status status = traces_load(et, "a.json", &text, FD_ET_ALL_KINDS, NULL);
    fd_buffer_clear(&text);
    return status;
}

static void
predicted(void)
{
    static const struct {
        fd_et_scale scale;
        int64_t ns;
    } cases[] = {{{"none", 0}, 120000},
                 {{"k", 0.5}, 95000}, /* both kernels come earlier */
                 {{"m", 2}, 170000},
                 {{"b", 0.5}, 95000}, /* with the kernel below it */
                 {{"c", 0.5}, 115000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_clear) fd_et et;
        CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
        CLEAN(fd_et_estimate_clear) fd_et_estimate e = {.matched = 0};
        fd_et_changes changes = {&cases[i].scale, 1, 1, 0};
        OK(make(&et));
        OK(fd_et_ranks_add(&ranks, &et));
        OK(fd_et_estimate_make(&et, 1, &ranks, &changes, &e, NULL));
        EQUAL(e.measured_ns, 120000);
        EQUAL(e.replayed_ns, 120000);
        EQUAL(e.predicted_ns, cases[i].ns);
        int64_t sum = 0;
        for (uint32_t k = 0; k < e.path.count; k++) {
            sum += e.path.list[k].ns;
        }
        EQUAL(sum, e.predicted_ns);
    }
}

static void
path(void)
{
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
    CLEAN(fd_et_estimate_clear) fd_et_estimate e = {.matched = 0};
    fd_et_changes changes = {.bandwidth = 1};
    OK(make(&et));
    OK(fd_et_ranks_add(&ranks, &et));
    OK(fd_et_estimate_make(&et, 1, &ranks, &changes, &e, NULL));
    SAME(fd_text_pool_get(&e.texts, e.path.list[0].name), "m");
    EQUAL(e.path.list[0].ns, 50000);
    SAME(fd_text_pool_get(&e.texts, e.path.list[1].name), "k");
}

static void
untimed(void)
{
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
    CLEAN(fd_et_estimate_clear) fd_et_estimate e = {.matched = 0};
    fd_et_changes changes = {.bandwidth = 1};
    fd_error error;
    OK(traces_loaded(&et));
    OK(fd_et_ranks_add(&ranks, &et));
    STATUS(fd_et_estimate_make(&et, 1, &ranks, &changes, &e, &error),
           FD_EINVAL);
    CHECK(strstr(error.text, "link them with Kineto") != NULL);
}

RUN(TEST(predicted), TEST(path), TEST(untimed))
