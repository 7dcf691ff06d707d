/* The nodes of a recording: functions, operators, ranges, thread roots. Two
 * nodes are the same when kind, file, class, name and first line are. The
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

/* Whether nodes of this kind are functions, which have a file and a class. */
static inline bool
fd_kind_is_function(uint8_t kind)
{
    return kind == FD_NODE_PYTHON || kind == FD_NODE_C;
}

void fd_nodes_init(fd_nodes *nodes, fd_file *file, fd_strings *strings,
                   uint32_t max_count);
void fd_nodes_clear(fd_nodes *nodes);

/* The node of this description, added when new. 0 (and counted) when there is
 * no room. `added` (may be NULL) is set to whether it is new. */
uint32_t fd_nodes_add(fd_nodes *nodes, const fd_node_spec *spec, bool *added);

/* The node of this description; 0: none. */
uint32_t fd_nodes_find(const fd_nodes *nodes, const fd_node_spec *spec);

/* Note that a context of `callee` hangs below one of `caller`. */
void fd_nodes_edge(fd_nodes *nodes, uint32_t caller, uint32_t callee);

/* Append the key text: file:[Class]:function for functions (the file
 * without its stripped part), the plain name for every other kind. */
void fd_node_key(const fd_file *file, const fd_node *node, fd_buffer *to);

#endif
