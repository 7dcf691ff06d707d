#include "recording/node_table.h"

#include "base/hash.h"

#include <string.h>

enum { FIRST_CHUNK = 16 * 1024 };

void
fd_nodes_init(fd_nodes *nodes, fd_file *file, fd_strings *strings,
              uint32_t max_count)
{
    *nodes = (fd_nodes){
        .pool = fd_pool_of(file, FD_CHUNK_NODES, sizeof(fd_node), FIRST_CHUNK),
        .strings = strings,
        .max_count = max_count,
    };
}

void
fd_nodes_clear(fd_nodes *nodes)
{
    fd_index_clear(&nodes->index);
    fd_map_clear(&nodes->edges);
}

static uint32_t
intern_text(fd_nodes *nodes, const char *text)
{
    return text == NULL ? 0
                        : fd_strings_add(nodes->strings, text, strlen(text));
}

static uint32_t
hash_of(const fd_node *node)
{
    uint64_t hash = fd_hash_word(node->kind);
    hash = fd_hash_next(hash, (uint64_t)node->file << 32 | node->class_name);
    hash = fd_hash_next(hash, (uint64_t)node->name << 32 | node->line);
    return (uint32_t)hash;
}

static bool
same_node(const fd_node *a, const fd_node *b)
{
    return a->kind == b->kind && a->file == b->file
        && a->class_name == b->class_name && a->name == b->name
        && a->line == b->line;
}

static uint32_t
find_node(const fd_nodes *nodes, const fd_node *wanted)
{
    fd_probe probe = fd_index_probe(&nodes->index, wanted->hash);
    uint32_t id;
    while ((id = fd_index_next(&nodes->index, &probe)) != 0) {
        if (same_node(fd_file_record(nodes->pool.file, id), wanted)) {
            return id;
        }
    }
    return 0;
}

static uint32_t
known_string(const fd_nodes *nodes, const char *text, bool *missing)
{
    uint32_t id =
        text == NULL ? 0 : fd_strings_find(nodes->strings, text, strlen(text));
    *missing |= id == 0 && text != NULL && text[0] != '\0';
    return id;
}

uint32_t
fd_nodes_find(const fd_nodes *nodes, const fd_node_spec *spec)
{
    bool missing = false;
    fd_node node = {
        .kind = spec->kind,
        .line = spec->line,
        .file = known_string(nodes, spec->file, &missing),
        .class_name = known_string(nodes, spec->class_name, &missing),
        .name = known_string(nodes, spec->name, &missing),
    };
    node.hash = hash_of(&node);
    return missing ? 0 : find_node(nodes, &node);
}

uint32_t
fd_nodes_add(fd_nodes *nodes, const fd_node_spec *spec, bool *added)
{
    fd_node node = {
        .kind = spec->kind,
        .from = spec->from,
        .strip = spec->strip,
        .flags = spec->flags,
        .line = spec->line,
        .file = intern_text(nodes, spec->file),
        .class_name = intern_text(nodes, spec->class_name),
        .name = intern_text(nodes, spec->name),
        .qualified = intern_text(nodes, spec->qualified),
        .package = intern_text(nodes, spec->package),
    };
    node.hash = hash_of(&node);
    uint32_t id = find_node(nodes, &node);
    if (added != NULL) {
        *added = id == 0;
    }
    if (id == 0 && nodes->pool.count < nodes->max_count) {
        id = fd_pool_add(&nodes->pool, &nodes->index, node.hash, &node);
    }
    if (id == 0) {
        fd_file_count(nodes->pool.file, FD_COUNT_NODES_FULL);
    }
    return id;
}

void
fd_nodes_edge(fd_nodes *nodes, uint32_t caller, uint32_t callee)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    if (fd_map_get(&nodes->edges, key) == 0) {
        fd_map_put(&nodes->edges, key, 1);
    }
}

void
fd_node_key(const fd_file *file, const fd_node *node, fd_buffer *to)
{
    if (fd_kind_is_function(node->kind)) {
        const fd_string *path = fd_strings_get(file, node->file);
        if (node->file != 0 && node->strip <= path->size) {
            fd_buffer_bytes(to, path->bytes + node->strip,
                            path->size - node->strip);
        }
        fd_buffer_text(to, ":[");
        fd_buffer_text(to, fd_strings_text(file, node->class_name));
        fd_buffer_text(to, "]:");
    }
    fd_buffer_text(to, fd_strings_text(file, node->name));
}
