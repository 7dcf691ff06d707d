#include "check.h"

#include "et/tools/dot_writer.h"

#include <string.h>

static void
statements(void)
{
    static const char expected[] =
        "digraph g {\nnode [shape=box]\n"
        "n1 [fillcolor=\"#FFFFFF\", weight=7, style=dotted]\n"
        "n1 -> n2 [penwidth=0.5]\n"
        "}\n";
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_dot_writer w = {.to = &text};
    fd_dot_begin(&w, "g", "node [shape=box]\n");
    fd_dot_begin_node(&w, 1);
    fd_dot_put_text(&w, "fillcolor", "#FFFFFF");
    fd_dot_put_number(&w, "weight", 7);
    fd_dot_put_word(&w, "style", "dotted");
    fd_dot_end_statement(&w);
    fd_dot_begin_edge(&w, 1, 2);
    fd_buffer_text(fd_dot_put(&w, "penwidth"), "0.5");
    fd_dot_end_statement(&w);
    fd_dot_end(&w);
    OK(text.status);
    EQUAL(text.size, sizeof expected - 1);
    CHECK(memcmp(text.bytes, expected, text.size) == 0);
}

RUN(TEST(statements))
