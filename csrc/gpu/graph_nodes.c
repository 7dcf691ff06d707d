#include "gpu/graph_nodes.h"

#include "base/hash.h"

#include <stdbool.h>

enum { LONGEST_PROBE = 64 };

void
fd_graph_nodes_clear(fd_graph_nodes *nodes)
{
    if (nodes->count > 0) {
        for (uint32_t i = 0; i < FD_GRAPH_NODES; i++) {
            nodes->list[i].id = 0;
            nodes->list[i].context = 0;
        }
        nodes->count = 0;
    }
}

static uint32_t
place_of(uint64_t id, uint32_t probe)
{
    return ((uint32_t)fd_hash_word(id) + probe) % FD_GRAPH_NODES;
}

void
fd_graph_nodes_put(fd_graph_nodes *nodes, uint64_t id, uint32_t context)
{
    for (uint32_t probe = 0; id != 0 && probe < LONGEST_PROBE; probe++) {
        fd_graph_node *node = &nodes->list[place_of(id, probe)];
        uint64_t found = 0;
        bool added = atomic_compare_exchange_strong(&node->id, &found, id);
        if (added || found == id) {
            atomic_store_explicit(&node->context, context,
                                  memory_order_release);
            nodes->count += added;
            return;
        }
    }
}

uint32_t
fd_graph_nodes_get(const fd_graph_nodes *nodes, uint64_t id)
{
    for (uint32_t probe = 0; id != 0 && probe < LONGEST_PROBE; probe++) {
        const fd_graph_node *node = &nodes->list[place_of(id, probe)];
        uint64_t found = atomic_load_explicit(&node->id, memory_order_acquire);
        if (found == id) {
            return atomic_load_explicit(&node->context, memory_order_acquire);
        }
        if (found == 0) {
            return 0;
        }
    }
    return 0;
}
