#include "columns/path_ids.h"

#include "base/alloc.h"
#include "base/hash.h"

/* A fixed key, since the ids must be equal in all traces. */
static const fd_sip_key key = {0, 0};

static uint64_t
hash_words(const uint64_t *words, size_t count)
{
    return fd_siphash(key, words, count * sizeof *words);
}

static uint64_t
hash_text(const fd_trace *trace, uint32_t id)
{
    return fd_siphash(key, fd_trace_text(trace, id),
                      fd_text_pool_size(&trace->texts, id));
}

static uint64_t
hash_node(const fd_trace *trace, const fd_trace_node *node)
{
    uint64_t words[] = {node->kind, hash_text(trace, node->file),
                        hash_text(trace, node->class_name),
                        hash_text(trace, node->name), node->line};
    return hash_words(words, sizeof words / sizeof *words);
}

static uint64_t *
node_hashes(const fd_trace *trace)
{
    uint64_t *list = fd_calloc(trace->nodes.count + 1, sizeof *list);
    for (uint32_t i = 1; list != NULL && i < trace->nodes.count; i++) {
        list[i] = hash_node(trace, &trace->nodes.list[i]);
    }
    return list;
}

/* Hash the modules; a parent precedes its children. */
static uint64_t *
module_hashes(const fd_trace *trace)
{
    uint64_t *list = fd_calloc(trace->modules.count + 1, sizeof *list);
    for (uint32_t i = 1; list != NULL && i < trace->modules.count; i++) {
        const fd_trace_module *module = &trace->modules.list[i];
        uint64_t words[] = {list[module->parent],
                            hash_text(trace, module->name),
                            hash_text(trace, module->class_name)};
        list[i] = hash_words(words, sizeof words / sizeof *words);
    }
    return list;
}

/* Hash the paths with their origins. An origin can come later and have an
 * origin itself, so only the hash of its path is used. */
static void
hash_paths(const fd_trace *trace, const uint64_t *nodes,
           const uint64_t *modules, const uint64_t *plain, uint64_t *paths)
{
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        uint64_t words[] = {paths[context->parent], nodes[context->node],
                            modules[context->module],
                            plain != NULL ? plain[context->origin] : 0};
        paths[i] = hash_words(words, sizeof words / sizeof *words);
    }
}

uint64_t *
fd_path_ids(const fd_trace *trace)
{
    size_t count = (size_t)trace->contexts.count + 1;
    uint64_t *nodes = node_hashes(trace);
    uint64_t *modules = module_hashes(trace);
    uint64_t *plain = fd_calloc(count, sizeof *plain);
    uint64_t *paths = fd_calloc(count, sizeof *paths);
    if (nodes != NULL && modules != NULL && plain != NULL && paths != NULL) {
        hash_paths(trace, nodes, modules, NULL, plain);
        hash_paths(trace, nodes, modules, plain, paths);
    }
    else {
        fd_free(paths);
        paths = NULL;
    }
    fd_free(nodes);
    fd_free(modules);
    fd_free(plain);
    return paths;
}
