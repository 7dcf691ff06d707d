#include "check.h"
#include "fixtures.h"

#include "recording/node_table.h"

static const fd_node_spec METHOD = {
    .kind = FD_NODE_PYTHON,
    .from = FD_FROM_SITE,
    .strip = 6,
    .flags = FD_NODE_FOLD,
    .line = 12,
    .file = "/home/model.py",
    .class_name = "GPT",
    .name = "forward",
    .qualified = "GPT.forward",
    .package = "model",
};

/* Kind, file, class, name and line make a node; nothing else does. */
ABSORBS(identity_of_nodes)
{
    FIXTURE(f, NULL, 4);
    fd_nodes *nodes = &f.recording->nodes;
    uint32_t id = fd_nodes_add(nodes, &METHOD, NULL);
    fd_node_spec other[5] = {METHOD, METHOD, METHOD, METHOD, METHOD};
    other[0].kind = FD_NODE_RANGE;
    other[1].file = "/home/train.py";
    other[2].class_name = NULL;
    other[3].name = "backward";
    other[4].line = 13;
    for (int i = 0; i < 5; i++) {
        EQUAL(fd_nodes_find(nodes, &other[i]), 0);
        uint32_t made = fd_nodes_add(nodes, &other[i], NULL);
        CHECK(made != 0 && made != id);
        EQUAL(fd_nodes_find(nodes, &other[i]), made);
    }
    fd_node_spec same = METHOD;
    same.package = "elsewhere";
    same.qualified = NULL;
    same.flags = 0;
    EQUAL(fd_nodes_add(nodes, &same, NULL), id);
}

ABSORBS(bound_is_counted)
{
    FIXTURE(f, NULL, 4);
    f.recording->nodes.max_count = f.recording->nodes.pool.count + 1;
    CHECK(fixture_node(&f, FD_NODE_OP, "aten::mm") != 0);
    EQUAL(fixture_node(&f, FD_NODE_OP, "aten::add"), 0);
    CHECK(fixture_node(&f, FD_NODE_OP, "aten::mm") != 0);
    EQUAL(fd_file_header(&f.recording->file)->counters[FD_COUNT_NODES_FULL],
          1);
}

ABSORBS(key_texts)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fd_buffer_clear) fd_buffer key = {.bytes = NULL};
    const fd_file *file = &f.recording->file;
    uint32_t op = fixture_node(&f, FD_NODE_OP, "aten::mm");
    uint32_t method = fd_nodes_add(&f.recording->nodes, &METHOD, NULL);
    CHECK(op != 0 && method != 0);
    fd_node_key(file, fd_file_record(file, method), &key);
    fd_buffer_text(&key, " ");
    fd_node_key(file, fd_file_record(file, op), &key);
    WRITTEN(&key, "model.py:[GPT]:forward aten::mm");
}

ABSORBS(edges_are_a_set)
{
    FIXTURE(f, NULL, 4);
    uint32_t before = f.recording->nodes.edges.count;
    fd_nodes_edge(&f.recording->nodes, 5, 6);
    fd_nodes_edge(&f.recording->nodes, 5, 6);
    fd_nodes_edge(&f.recording->nodes, 6, 5);
    EQUAL(f.recording->nodes.edges.count, before + 2);
}
