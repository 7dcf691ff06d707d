#include "traces.h"

#include "et/et_steps.h"

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

/* Also of communication. */
TEST(messages)
{
    EMPTY_TRACE(et);
    fd_et_add(&et);
    fd_et_make_comm(&et, 0)->dtype = fd_et_add_word(&et, "Posit16");
    EQUAL(fd_et_item_size(&et, fd_et_add_word(&et, "Float")), 4);
    fd_et_check_dtypes(&et);
    EQUAL(et.faults.dtypes_unknown, 1);
    SAME(et.faults.dtype, "Posit16");
}
