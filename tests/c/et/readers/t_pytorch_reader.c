#include "traces.h"

#include <string.h>

TEST(whole)
{
    LOADED(et);
    FIELDS(&et, (nodes.count, 10), (pid, 7), (start_ts, 5), (finish_ts, 9));
    CHECK(et.finished);
    SAME(fd_et_text(&et, et.schema), "1.1.1-chakra.0.0.4");
    EQUAL(et.faults.lost, 0);
    EQUAL(traces_find(&et, 5)->parent, fd_et_index(&et, 4));
}

/* Cut at many bytes: complete nodes are read, and the rest is counted. */
TEST(cut_short)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    traces_small(&text);
    OK(text.status);
    for (size_t size = 110; size < text.size; size += 37) {
        CLEAN(fd_et_clear) fd_et et;
        fd_buffer part = {.bytes = text.bytes, .size = size};
        fd_status status =
            traces_load(&et, "cut.json", &part, FD_ET_ALL_KINDS, NULL);
        if (et.nodes.count == 0) { /* no node is left: that is an error */
            STATUS(status, FD_EFORMAT);
            continue;
        }
        OK(status);
        CHECK(et.nodes.count <= 10);
        CHECK(et.faults.lost == 1 || et.nodes.count == 10);
        CHECK(size < 1500 || et.nodes.count >= 2);
        CHECK(strstr(et.faults.trouble, "cut short at byte") != NULL
              || et.finished);
    }
}

TEST(damaged)
{
    TRACE_BEGUN(text, et);
    traces_more(&text, 1, 1, "a", "");
    fd_buffer_text(&text, ",\n {\"id\": 2, \"name\": 5 5},\n {\"id\": 3, !}");
    traces_more(&text, 4, 1, "b", "");
    traces_end(&text);
    OK(traces_load(&et, "bad.json", &text, FD_ET_ALL_KINDS, NULL));
    EQUAL(et.nodes.count, 2);
    EQUAL(et.faults.lost, 2);
    CHECK(et.faults.lost_bytes > 30);
    CHECK(et.finished);
}

TEST(none)
{
    static const struct {
        const char *text;
        const char *said;
    } cases[] = {
        {"", "x.json: empty"},
        {"{}", "x.json: not an execution trace: it has no \"nodes\""},
        {"[1]", "x.json: not an execution trace: neither PyTorch's JSON nor "
                "Chakra's .et"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_clear) fd_et et;
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        fd_error error;
        fd_buffer_text(&text, cases[i].text);
        STATUS(traces_load(&et, "x.json", &text, FD_ET_ALL_KINDS, &error),
               FD_EFORMAT);
        SAME(error.text, cases[i].said);
    }
}

/* What json.load refuses is damage, although all nodes are read; NaN is not. */
TEST(almost_json)
{
    static const struct {
        const char *from; /* replaced in a sound file */
        const char *to;
        uint64_t lost;
        uint64_t invalid;
    } cases[] = {
        {"", "", 0, 0},
        {"},", "}", 1, 0},
        {"]}", ",]}", 1, 0},
        {"]}", "]}]", 1, 0},
        {"]}", "]} x", 1, 0},
        {"]}", "]}  \n", 0, 0},
        {"\"a\"", "NaN", 0, 0},
        {"\"a\"", "\"C:\\work\"", 0, 1},
        {"\"b\"", "-Infinity", 0, 0},
        {"\"b\"", "nan", 0, 1},
    };
    static const char sound[] =
        "{\"schema\":\"1.1.1\",\"x\":\"a\",\"nodes\":["
        "{\"id\":1,\"name\":\"n\",\"ctrl_deps\":1,\"y\":\"b\"},"
        "{\"id\":2,\"name\":\"n\",\"ctrl_deps\":1}]}";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_clear) fd_et et;
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        const char *at = strstr(sound, cases[i].from);
        fd_buffer_bytes(&text, sound, (size_t)(at - sound));
        fd_buffer_text(&text, cases[i].to);
        fd_buffer_text(&text, at + strlen(cases[i].from));
        OK(traces_load(&et, "x.json", &text, FD_ET_ALL_KINDS, NULL));
        EQUAL(et.nodes.count, 2);
        EQUAL(et.faults.lost, cases[i].lost);
        EQUAL(et.faults.invalid, cases[i].invalid);
    }
}
