#include "check.h"
#include "fixtures.h"

#include "trace/reader/recording_reader.h"

#include <string.h>

static fd_status
read_back(const fixture *f, fd_trace **trace)
{
    return fd_reader_read_memory(trace, f->recording->file.base,
                                 fixture_bytes(f), false, NULL);
}

static fd_node *
node_of(const fixture *f, uint32_t id)
{
    return fd_file_record(&f->recording->file, id);
}

static void
nodes_as_recorded(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_trace(&trace, 0, NULL));
    uint32_t id = fixture_find(trace, "step");
    const fd_trace_node *node =
        &trace->nodes.list[trace->contexts.list[id].node];
    EQUAL(node->kind, FD_NODE_PYTHON);
    EQUAL(node->from, FD_FROM_SITE);
    EQUAL(node->line, 60);
    SAME(fd_trace_text(trace, node->file), "model.py");
    SAME(fd_trace_text(trace, node->class_name), "Adam");
    SAME(fd_trace_text(trace, node->qualified), "step");
    SAME(fd_trace_text(trace, node->package), "model");
    EQUAL(trace->modules.count, 4);
    const fd_trace_context *linear =
        &trace->contexts.list[fixture_find(trace, "aten::linear")];
    const fd_trace_module *module =
        &trace->modules.list[trace->contexts.list[linear->parent].module];
    SAME(fd_trace_text(trace, module->name), "blocks.0");
    SAME(fd_trace_text(trace, module->class_name), "Block");
    SAME(fd_trace_text(trace, trace->modules.list[module->parent].class_name),
         "GPT");
}

/* Invalid UTF-8 and NUL bytes are replaced. */
static void
broken_texts(void)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_open(&f, NULL, 4));
    uint32_t node = fixture_node(&f, FD_NODE_RANGE, "abXcdY");
    fixture_enter_node(f.main, node);
    uint32_t name = node_of(&f, node)->name;
    fd_string *text =
        (fd_string *)(f.recording->file.base + (size_t)name * FD_STRING_UNIT);
    text->bytes[2] = '\0';
    text->bytes[5] = '\xC3';
    OK(read_back(&f, &trace));
    CHECK(fixture_find(trace, "ab\xEF\xBF\xBD"
                              "cd\xEF\xBF\xBD")
          != 0);
    CHECK(fixture_sound(trace));
}

static void
damaged_nodes(void)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_open(&f, NULL, 4));
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
    OK(read_back(&f, &trace));
    CHECK(fixture_sound(trace));
    uint32_t lost = fixture_find(trace, "<lost>");
    EQUAL(fixture_figure(trace, 0, lost).calls, 1);
    EQUAL(trace->contexts.list[fixture_find(trace, "from")].parent, lost);
    const fd_trace_node *node =
        &trace->nodes
             .list[trace->contexts.list[fixture_find(trace, "strip")].node];
    EQUAL(node->file, 0);
    EQUAL(node->package, 0);
}

RUN(TEST(nodes_as_recorded), ABSORBS(broken_texts), ABSORBS(damaged_nodes))
