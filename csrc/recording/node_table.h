/* The nodes of a recording: functions, operators, ranges, thread roots. Nodes
 * with equal kind, file, class, name and first line are the same node. The
 * recording's lock serialises fd_nodes_add. */
#ifndef FD_NODE_TABLE_H
#define FD_NODE_TABLE_H

#include "base/buffer.h"
#include "base/index.h"
#include "base/map.h"
#include "recording/string_table.h"

typedef struct fd_nodes {
    fd_pool pool;
    fd_strings *strings; /* borrowed */
    fd_index index;
    fd_map edges; /* caller node << 32 | callee node -> 1 */
    uint32_t max_count;
} fd_nodes;

/* The identity of a node; texts are borrowed for the call, NULL means "". */
typedef struct fd_node_spec {
    uint8_t kind;
    uint8_t from;
    uint16_t strip;
    uint32_t flags;
    uint32_t line;
    const char *file;
    const char *class_name;
    const char *name;
    const char *qualified;
    const char *package;
} fd_node_spec;

/* Return whether nodes of this kind are functions, which have a file and a
 * class. */
static inline bool
fd_kind_is_function(uint8_t kind)
{
    return kind == FD_NODE_PYTHON || kind == FD_NODE_C;
}

void fd_nodes_init(fd_nodes *nodes, fd_file *file, fd_strings *strings,
                   uint32_t max_count);
void fd_nodes_clear(fd_nodes *nodes);

/* Return the node with this identity; add it if it is new. Return 0 and count
 * it if there is no space. `added` (may be NULL) is set to whether the node is
 * new. */
uint32_t fd_nodes_add(fd_nodes *nodes, const fd_node_spec *spec, bool *added);

/* Return the node with this identity, or 0 if it does not exist. */
uint32_t fd_nodes_find(const fd_nodes *nodes, const fd_node_spec *spec);

/* Add the edge from `caller` to `callee` to the set of edges. */
void fd_nodes_edge(fd_nodes *nodes, uint32_t caller, uint32_t callee);

/* Append the key of a node: file:[Class]:function for functions (the file
 * without its stripped part), the plain name for other kinds. */
void fd_node_key(const fd_file *file, const fd_node *node, fd_buffer *to);

#endif
