#include "traces.h"

TEST(by_name)
{
    LOADED(et);
    CLEAN(fd_et_clear) fd_et again = {.rank = -1};
    fd_error error;
    static const char *const names[] = {"a.et", "a.et.gz"};
    for (int i = 0; i < 2; i++) {
        fd_et_clear(&again);
        OK(fd_et_save(&et, names[i], NULL));
        OK(traces_read(&again, names[i], FD_ET_ALL_KINDS, NULL));
        EQUAL(again.format, FD_ET_CHAKRA);
        EQUAL(again.nodes.count, 10);
    }
    STATUS(fd_et_save(&et, "a.json", &error), FD_EINVAL);
    fd_et_clear(&again);
    STATUS(traces_read(&again, "absent.et", FD_ET_ALL_KINDS, &error), FD_EIO);
    SAME(fd_et_format_names[FD_ET_CHAKRA], "Chakra execution trace");
}

/* A byte-order mark, and a head that does not show the format. */
TEST(late_keys)
{
    TRACE_TEXT(text, et);
    fd_buffer_text(&text, "\xEF\xBB\xBF\r\n{\"pid\":\n7,\"more\":\"");
    for (int i = 0; i < 10000; i++) {
        fd_buffer_text(&text, "0123456789");
    }
    fd_buffer_text(&text, "\",\"traceEvents\":[{\"ph\":\"X\",\"name\":"
                          "\"a\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1}]}");
    OK(traces_load(&et, "a.json", &text, FD_ET_ALL_KINDS, NULL));
    EQUAL(et.format, FD_ET_KINETO);
    EQUAL(et.nodes.count, 0);
}
