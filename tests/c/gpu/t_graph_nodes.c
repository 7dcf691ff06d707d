#include "check.h"

#include "gpu/graph_nodes.h"

static fd_graph_nodes nodes;

TEST(finds_nodes)
{
    fd_graph_nodes_put(&nodes, UINT64_C(1) << 32, 5);
    fd_graph_nodes_put(&nodes, (UINT64_C(1) << 32) + 1, 6);
    fd_graph_nodes_put(&nodes, UINT64_C(1) << 32, 7);
    fd_graph_nodes_put(&nodes, 0, 8); /* an id that is not known */
    EQUAL(nodes.count, 2);
    EQUAL(fd_graph_nodes_get(&nodes, UINT64_C(1) << 32), 7);
    EQUAL(fd_graph_nodes_get(&nodes, (UINT64_C(1) << 32) + 1), 6);
    EQUAL(fd_graph_nodes_get(&nodes, 2), 0);
    EQUAL(fd_graph_nodes_get(&nodes, 0), 0);
    fd_graph_nodes_clear(&nodes);
    EQUAL(fd_graph_nodes_get(&nodes, UINT64_C(1) << 32), 0);
}

/* Nodes without space are not found, and others are. */
TEST(is_limited)
{
    uint32_t found = 0;
    fd_graph_nodes_clear(&nodes);
    for (uint32_t i = 1; i <= 2 * FD_GRAPH_NODES; i++) {
        fd_graph_nodes_put(&nodes, i, i);
    }
    for (uint32_t i = 1; i <= 2 * FD_GRAPH_NODES; i++) {
        uint32_t context = fd_graph_nodes_get(&nodes, i);
        CHECK(context == i || context == 0);
        found += context == i;
    }
    EQUAL(found, nodes.count);
    CHECK(found > FD_GRAPH_NODES / 2);
    fd_graph_nodes_clear(&nodes);
    EQUAL(nodes.count, 0);
}
