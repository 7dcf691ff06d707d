#include "traces.h"

#include "et/et_writers.h"
#include "streams/output_stream.h"

static fd_status
draw(const fd_et *et, fd_buffer *to)
{
    fd_status status;
    fd_bytes_out *out = fd_bytes_out_open("a.dot", &status, NULL);
    if (status == FD_OK) {
        status = fd_et_write_dot(et, out, NULL);
        fd_buffer *text = fd_bytes_out_text(out);
        status = status == FD_OK ? text->status : status;
        fd_buffer_bytes(to, text->bytes, text->size);
        fd_buffer_bytes(to, "", 1);
        fd_bytes_out_drop(out);
    }
    return status == FD_OK ? to->status : status;
}

static void
each_node(void)
{
    LOADED(et);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    OK(draw(&et, &text));
    EQUAL(check_count(text.bytes, "fillcolor="), 10);
    EQUAL(check_count(text.bytes, "style=dotted"), 9);
    EQUAL(check_count(text.bytes, "10 nodes: each node"), 1);
    CHECK(check_count(text.bytes, "color=\"#1565C0\"") > 0);
    HAS(text.bytes, "label=\"aten::addmm\"");
}

/* However large the trace is. */
static void
folded(void)
{
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer picture = {.bytes = NULL};
    traces_begin(&text);
    for (unsigned i = 2; i < 402; i++) {
        char name[] = "say \\\"000\\\"";
        name[6] = (char)('0' + i / 100 % 10);
        name[7] = (char)('0' + i / 10 % 10);
        name[8] = (char)('0' + i % 10);
        traces_more(&text, i, 1, name, "");
    }
    traces_end(&text);
    OK(traces_load(&et, "large.json", &text, FD_ET_ALL_KINDS, NULL));
    OK(draw(&et, &picture));
    EQUAL(check_count(picture.bytes, "fillcolor="), 120);
    HAS(picture.bytes, "281 other names");
    HAS(picture.bytes, "label=\"say \\\"002\\\"");
    HAS(picture.bytes, "Order is not drawn");
}

RUN(TEST(each_node), TEST(folded))
