#include "check.h"

#include "graphs/graphml_writer.h"

#include <string.h>

static void
document(void)
{
    static const fd_graphml_key keys[] = {{"name", "node", "name", "string"},
                                          {"ns", "all", "total_ns", "long"}};
    static const char expected[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
        "<key id=\"name\" for=\"node\" attr.name=\"name\""
        " attr.type=\"string\"/>\n"
        "<key id=\"ns\" for=\"all\" attr.name=\"total_ns\""
        " attr.type=\"long\"/>\n"
        "<graph edgedefault=\"directed\">\n"
        "<node id=\"n1\"><data key=\"name\">a&lt;b</data></node>\n"
        "<edge source=\"n1\" target=\"n18446744073709551615\">"
        "<data key=\"ns\">-5</data></edge>\n"
        "</graph>\n</graphml>\n";
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    const fd_graphml_writer w = {.to = &text, .prefix = "n"};
    fd_graphml_begin(&w, keys, 2);
    fd_graphml_begin_node(&w, 1);
    fd_graphml_put_text(&w, "name", "a<b");
    fd_graphml_end_node(&w);
    fd_graphml_begin_edge(&w, 1, UINT64_MAX);
    fd_graphml_put_i64(&w, "ns", -5);
    fd_graphml_end_edge(&w);
    fd_graphml_end(&w);
    OK(text.status);
    EQUAL(text.size, sizeof expected - 1);
    CHECK(memcmp(text.bytes, expected, text.size) == 0);
}

RUN(TEST(document))
