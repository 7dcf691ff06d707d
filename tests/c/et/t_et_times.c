#include "traces.h"

#include "et/et_steps.h"

TEST(filled)
{
    TRACE_BEGUN(text, et);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    traces_more(&text, 3, 2, "a", "");
    traces_more(&text, 4, 3, "b",
                ", \"ts\": 10, \"inclusive_dur\": 5, "
                "\"exclusive_dur\": 5");
    traces_more(&text, 5, 3, "c",
                ", \"ts\": 20, \"inclusive_dur\": 5, "
                "\"exclusive_dur\": 5");
    traces_more(&text, 6, 2, "d", "");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, 0, NULL));
    EQUAL(traces_find(&et, 2)->start_ns, 10000);
    EQUAL(traces_find(&et, 2)->dur_ns, 15000);
    EQUAL(traces_find(&et, 3)->dur_ns, 15000);
    CHECK((traces_find(&et, 3)->flags & FD_ET_GUESSED) != 0);
    EQUAL(traces_find(&et, 6)->start_ns, 20000);
    EQUAL(traces_find(&et, 6)->dur_ns, 0);
    fd_et_find_self(&et);
    EQUAL(traces_find(&et, 4)->self_ns, 5000);
    EQUAL(traces_find(&et, 3)->self_ns, 0);
}

TEST(untimed)
{
    LOADED(et);
    for (uint32_t i = 0; i < et.nodes.count; i++) {
        EQUAL(et.nodes.list[i].flags & FD_ET_TIMED, 0);
    }
}
