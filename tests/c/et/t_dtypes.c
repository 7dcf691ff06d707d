#include "traces.h"

static void
add(fd_buffer *text, unsigned id, const char *types, const char *attrs)
{
    fd_buffer_format(text,
                     ",{\"id\":%u,\"name\":\"aten::a\",\"ctrl_deps\":2,"
                     "\"inputs\":{\"values\":[],\"shapes\":[],\"types\":%s},"
                     "\"outputs\":{\"values\":[],\"shapes\":[],\"types\":[]},"
                     "\"attrs\":[%s]}",
                     id, types, attrs);
}

/* Counted once per node, with the first of them; everything is kept. */
TEST(unknown_types)
{
    TRACE_BEGUN(text, et);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    add(&text, 3, "[\"Tensor(float)\",\"Int\"]", "");
    add(&text, 4, "[\"Tensor(nullptr (uninitialized))\"]", "");
    add(&text, 5, "[\"GenericList[Tensor(float),Tensor(c10::Posit16)]\"]", "");
    add(&text, 6, "[\"Tensor(c10::Posit16)\",\"Tensor(c10::Posit8)\"]", "");
    add(&text, 7, "[\"Tensor(c10::Posit16)\",\"Tensor(c10::Posit8)\"]", "");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, FD_ET_ALL_KINDS, NULL));
    EQUAL(et.nodes.count, 6);
    EQUAL(et.faults.dtypes_unknown, 3);
    SAME(et.faults.dtype, "c10::Posit16");
}

/* Of communication the size is not known then. */
TEST(moved)
{
    TRACE_BEGUN(text, et);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    fd_buffer_text(&text, ",{\"id\":3,\"name\":\"record_param_comms\","
                          "\"ctrl_deps\":2,\"inputs\":{\"values\":[]},"
                          "\"outputs\":{\"values\":[]},\"attrs\":["
                          "{\"name\":\"collective_name\",\"type\":\"string\","
                          "\"value\":\"allreduce\"},{\"name\":\"dtype\","
                          "\"type\":\"string\",\"value\":\"Posit16\"},"
                          "{\"name\":\"in_msg_nelems\",\"type\":\"uint64\","
                          "\"value\":6}]}");
    traces_end(&text);
    OK(traces_load(&et, "b.json", &text, FD_ET_ALL_KINDS, NULL));
    const fd_et_node *node = traces_find(&et, 3);
    EQUAL(node->type, FD_ET_COLL);
    EQUAL(fd_et_comm_of(&et, node)->bytes, -1);
    EQUAL(et.faults.dtypes_unknown, 1);
    SAME(et.faults.dtype, "Posit16");
}
