#include "traces.h"

#include "et/et_summary.h"

static void
figures(void)
{
    CLEAN(fd_et_clear) fd_et et;
    fd_et_summary s;
    OK(traces_loaded(&et));
    OK(fd_et_summarize(&et, &s));
    EQUAL(s.cpu, 10);
    EQUAL(s.gpu, 0);
    EQUAL(s.operators, 6);
    EQUAL(s.threads, 1);
    EQUAL(s.types[FD_ET_COLL], 1);
    EQUAL(s.types[FD_ET_SEND], 1);
    EQUAL(s.types[FD_ET_METADATA], 2);
    EQUAL(s.traffic[FD_ET_ALL_REDUCE].count, 1);
    EQUAL(s.traffic[FD_ET_ALL_REDUCE].bytes, 24);
    EQUAL(s.traffic[FD_ET_TRAFFIC_SEND].bytes, 24);
    EQUAL(s.deps, et.edges.count);
    SAME(fd_et_traffic_name(FD_ET_TRAFFIC_RECV), "RECV");
    SAME(fd_et_traffic_name(FD_ET_BARRIER), "BARRIER");
}

static void
times(void)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_et_clear) fd_et et;
    fd_et_summary s;
    traces_begin(&text);
    traces_more(&text, 2, 1, "ProfilerStep#1",
                ", \"ts\": 3, \"inclusive_dur\": 9");
    traces_more(&text, 3, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 7, "
                "\"ts\": 8, \"inclusive_dur\": 9");
    traces_more(&text, 4, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 8, "
                "\"ts\": 8, \"inclusive_dur\": 2");
    traces_more(&text, 5, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 8, "
                "\"ts\": 8, \"fd_device\": 1");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, 0, NULL));
    OK(fd_et_summarize(&et, &s));
    EQUAL(s.steps, 1);
    EQUAL(s.timed, 4);
    EQUAL(s.streams, 3);
    EQUAL(s.begin_ns, 3000);
    EQUAL(s.end_ns, 17000);
}

/* Of a Kineto trace alone: no schemas. */
static void
operators_by_name(void)
{
    static const struct {
        const char *name;
        uint64_t operators;
    } cases[] = {{"aten::mm", 1},
                 {"c10d::allreduce_", 1},
                 {"gloo:all_reduce", 0},
                 {"MmBackward0", 0},
                 {"::f", 0},
                 {"torch::autograd::AccumulateGrad", 0},
                 {"autograd::engine::evaluate_function: MmBackward0", 0},
                 {"std::function<void>", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        CLEAN(fd_et_clear) fd_et et;
        fd_et_summary s;
        traces_begin(&text);
        traces_more(&text, 2, 1, cases[i].name, "");
        traces_end(&text);
        OK(traces_load(&et, "a.json", &text, 0, NULL));
        OK(fd_et_summarize(&et, &s));
        EQUAL(s.operators, cases[i].operators);
    }
}

RUN(TEST(figures), TEST(times), TEST(operators_by_name))
