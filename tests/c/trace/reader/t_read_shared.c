#include "check.h"
#include "fixtures.h"

static fd_node *
node_of(const fixture *f, uint32_t id)
{
    return fd_file_record(&f->recording->file, id);
}

/* Invalid UTF-8 and NUL bytes are replaced. */
ABSORBS(broken_texts)
{
    FIXTURE_AND_TRACE(f, trace);
    uint32_t node = fixture_node(&f, FD_NODE_RANGE, "abXcdY");
    fixture_enter_node(f.main, node);
    uint32_t name = node_of(&f, node)->name;
    fd_string *text =
        (fd_string *)(f.recording->file.base + (size_t)name * FD_STRING_UNIT);
    text->bytes[2] = '\0';
    text->bytes[5] = '\xC3';
    OK(fixture_reload(&f, &trace));
    CHECK(fixture_find(trace, "ab\xEF\xBF\xBD"
                              "cd\xEF\xBF\xBD")
          != 0);
    CHECK(fixture_sound(trace));
}

ABSORBS(damaged_nodes)
{
    FIXTURE_AND_TRACE(f, trace);
    uint32_t unknown = fixture_node(&f, FD_NODE_OP, "unknown kind");
    uint32_t from = fixture_node(&f, FD_NODE_OP, "from");
    uint32_t strip = fixture_function(&f, "strip", 0);
    fixture_enter_node(f.main, unknown);
    fixture_enter_node(f.main, from);
    fixture_enter_node(f.main, strip);
    node_of(&f, unknown)->kind = FD_NODE_KINDS;
    node_of(&f, from)->from = 77;
    node_of(&f, strip)->strip = 5000;
    node_of(&f, strip)->package = UINT32_MAX;
    OK(fixture_reload(&f, &trace));
    CHECK(fixture_sound(trace));
    uint32_t lost = fixture_find(trace, "<lost>");
    EQUAL(fixture_figure(trace, 0, lost).calls, 1);
    EQUAL(trace->contexts.list[fixture_find(trace, "from")].parent, lost);
    const fd_trace_node *node =
        &trace->nodes
             .list[trace->contexts.list[fixture_find(trace, "strip")].node];
    FIELDS(node, (file, 0), (package, 0));
}
