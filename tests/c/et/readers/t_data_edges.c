#include "traces.h"

#include "et/et_steps.h"

static const uint32_t data = 1U << FD_ET_DATA;

TEST(reads_and_writes)
{
    TRACE_TEXT(text, et);
    traces_small(&text);
    OK(traces_load(&et, "a.json", &text, data, NULL));
    EQUAL(traces_edge(&et, 5, 6), data); /* the innermost wrote y */
    EQUAL(traces_edge(&et, 6, 7), data); /* written in place */
    EQUAL(traces_edge(&et, 6, 8), data); /* a view writes nothing */
    EQUAL(traces_edge(&et, 7, 8), 0);
    EQUAL(traces_edge(&et, 6, 9), data);
    EQUAL(traces_edge(&et, 4, 5), 0); /* within itself */
    EQUAL(et.edges.count, 5);         /* and 6 -> 20 */
}

/* A write waits for the reads before it. */
TEST(written_after_read)
{
    TRACE_BEGUN(text, et);
    traces_node(&text, 3, 1, "r", "r(Tensor x)", "[[1,5,0,3,4,\"cpu\"]]",
                "[]");
    traces_node(&text, 4, 1, "w", "w(Tensor(a!) x)", "[[1,5,0,3,4,\"cpu\"]]",
                "[[1,5,0,3,4,\"cpu\"]]");
    traces_node(&text, 5, 1, "w", "w(Tensor(a!) x)", "[[1,5,0,3,4,\"cpu\"]]",
                "[[1,5,0,3,4,\"cpu\"]]");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, data, NULL));
    EQUAL(traces_edge(&et, 4, 5), data);
    EQUAL(et.nodes.count, 3);
    EQUAL(traces_edge(&et, 3, 4), data);
    EQUAL(et.edges.count, 2);
}

#define X "[[1,5,0,3,4,\"cpu\"]]"

/* Thread 2 writes, then thread 3 within a call of thread 2, which then reads:
 * by times, and without times by ids. */
TEST(interleaved_threads)
{
    TRACE_TEXT(text, et);
    static const char thread[] = "[pytorch|profiler|execution_trace|thread]";
    static const int64_t times[][2] = {{0, 100}, {30, 20}, {0, 100},
                                       {10, 10}, {30, 20}, {60, 10}};
    traces_begin(&text);
    traces_node(&text, 2, 1, thread, "", "[]", "[]");
    traces_node(&text, 3, 1, thread, "", "[]", "[]");
    traces_node(&text, 4, 2, "around", "", "[]", "[]");
    traces_node(&text, 5, 4, "w", "w(Tensor(a!) x)", X, X);
    traces_node(&text, 6, 3, "w", "w(Tensor(a!) x)", X, X);
    traces_node(&text, 7, 4, "r", "r(Tensor x)", X, "[]");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, 0, NULL));
    ENTER(&et.arena);
    for (uint32_t i = 0; i < 6; i++) {
        fd_et_node *node = &et.nodes.list[fd_et_index(&et, i + 2) - 1];
        node->flags |= FD_ET_TIMED;
        node->start_ns = times[i][0];
        node->dur_ns = times[i][1];
        node->tid = i == 1 || i == 4 ? 2 : 1;
    }
    for (int timed = 1; timed >= 0; timed--) {
        et.nodes.list[fd_et_index(&et, 6) - 1].flags &=
            (uint8_t)(timed != 0 ? 0xFF : ~FD_ET_TIMED);
        et.edges.count = 0;
        fd_et_find_edges(&et, data);
        EQUAL(traces_edge(&et, 5, 6), data);
        EQUAL(traces_edge(&et, 6, 7), data);
        EQUAL(et.edges.count, 2);
    }
}
