#include "traces.h"

#include "fixtures.h"

#include <string.h>

static void
drawn(void)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_et_clear) fd_et et;
    traces_begin(&text);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    traces_more(&text, 3, 2, "a", ", \"ts\": 1, \"inclusive_dur\": 2.5");
    traces_more(&text, 5, 3, "k\\n",
                ", \"cat\": \"kernel\", \"stream\": 7, "
                "\"ts\": 9, \"inclusive_dur\": 1");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, FD_ET_ALL_KINDS, NULL));
    et.rank = 3;
    OK(fd_et_save(&et, "t.json", true, NULL));
    OK(fixture_read("t.json", &file));
    CHECK(fixture_holds(
        &file, "{\"ph\":\"X\",\"pid\":3,\"tid\":0,\"ts\":1.000,\"dur\":"
               "2.500,\"cat\":\"user_annotation\",\"name\":\"a\""));
    CHECK(fixture_holds(&file, "\"cat\":\"kernel\",\"name\":\"k\\n\""));
    CHECK(fixture_holds(&file,
                        "{\"ph\":\"s\",\"pid\":3,\"tid\":0,\"ts\":1.000,"
                        "\"cat\":\"launch\""));
    CHECK(fixture_holds(&file,
                        "\"ts\":9.000,\"cat\":\"launch\",\"name\":\"launch\","
                        "\"id\":1,\"bp\":\"e\"}"));
    CHECK(fixture_holds(&file, "{\"name\":\"stream 7\"}"));
    CHECK(!fixture_holds(&file, "thread]"));
}

/* Durations without starts: one after another. */
static void
laid_out(void)
{
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_et_clear) fd_et et;
    fd_error error;
    OK(traces_loaded(&et));
    STATUS(fd_et_save(&et, "t.json", true, &error), FD_EINVAL);
    CHECK(strstr(error.text, "no times in this trace") != NULL);
    for (uint32_t i = 0; i < et.nodes.count; i++) {
        et.nodes.list[i].self_ns = 1000;
    }
    OK(fd_et_save(&et, "t.json", true, NULL));
    OK(fixture_read("t.json", &file));
    CHECK(fixture_holds(
        &file, "\"ts\":2.000,\"dur\":1.000,\"cat\":\"cpu_op\",\"name\":"
               "\"aten::linear\""));
    CHECK(fixture_holds(&file, "\"ts\":7.000,\"dur\":1.000"));
    CHECK(fixture_holds(&file, "\"collective\":\"ALL_REDUCE\",\"bytes\":24"));
}

RUN(TEST(drawn), TEST(laid_out))
