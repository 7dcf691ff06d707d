#include "traces.h"

#include "et/et_steps.h"

TEST(counted)
{
    LOADED(et);
    uint64_t counts[FD_ET_KINDS] = {0};
    for (uint32_t i = 0; i < et.edges.count; i++) {
        for (int kind = 0; kind < FD_ET_KINDS; kind++) {
            counts[kind] += et.edges.list[i].kinds >> kind & 1;
        }
    }
    EQUAL(counts[FD_ET_ORDER],
          8); /* all below the thread, one after another */
    EQUAL(counts[FD_ET_GROUP], 0);  /* one collective */
    EQUAL(counts[FD_ET_LAUNCH], 1); /* from the call of c10d */
    CHECK((traces_edge(&et, 4, 5) & 1U << FD_ET_ORDER) != 0);
    CHECK((traces_edge(&et, 5, 6) & 1U << FD_ET_ORDER) != 0);
    EQUAL(traces_edge(&et, 1, 2), 0);
}

TEST(of_kernels)
{
    TRACE_BEGUN(text, et);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    traces_more(&text, 3, 2, "a", ", \"ts\": 1");
    traces_more(&text, 4, 3, "b", ", \"ts\": 2");
    traces_more(&text, 5, 3, "k",
                ", \"cat\": \"kernel\", \"stream\": 7, "
                "\"ts\": 9");
    traces_more(&text, 6, 2, "c", ", \"ts\": 5, \"sync_dep\": [5]");
    traces_more(&text, 7, 6, "k",
                ", \"cat\": \"kernel\", \"stream\": 7, "
                "\"ts\": 20");
    traces_more(&text, 8, 6, "ncclKernel_AllReduce",
                ", \"cat\": \"kernel\", \"stream\": 9, \"pg_name\": \"g\", "
                "\"ts\": 21");
    traces_more(&text, 9, 6, "ncclKernel_AllReduce",
                ", \"cat\": \"kernel\", \"stream\": 9, \"pg_name\": \"g\", "
                "\"ts\": 22");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, FD_ET_ALL_KINDS, NULL));
    EQUAL(traces_edge(&et, 4, 5), 1U << FD_ET_LAUNCH);
    EQUAL(traces_edge(&et, 6, 7), 1U << FD_ET_LAUNCH);
    EQUAL(traces_edge(&et, 5, 7), 1U << FD_ET_STREAM);
    EQUAL(traces_edge(&et, 8, 9), 1U << FD_ET_STREAM | 1U << FD_ET_GROUP);
    EQUAL(traces_edge(&et, 5, 6), 1U << FD_ET_SYNC);
    EQUAL(traces_edge(&et, 4, 6), 1U << FD_ET_ORDER);
    EQUAL(traces_edge(&et, 5, 8), 0);
    fd_et_clear(&et);
    OK(traces_load(&et, "a.json", &text, 1U << FD_ET_STREAM, NULL));
    EQUAL(et.edges.count, 2);
}

/* Streams of different devices with the same number differ. */
TEST(of_devices)
{
    TRACE_BEGUN(text, et);
    traces_more(&text, 2, 1, "a", ", \"ts\": 1");
    traces_more(&text, 3, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 7, "
                "\"ts\": 9");
    traces_more(&text, 4, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 7, "
                "\"fd_device\": 1, \"ts\": 10");
    traces_more(&text, 5, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 7, "
                "\"ts\": 11");
    traces_end(&text);
    OK(traces_load(&et, "d.json", &text, 1U << FD_ET_STREAM, NULL));
    EQUAL(et.edges.count, 1);
    EQUAL(traces_edge(&et, 3, 5), 1U << FD_ET_STREAM);
}
