#include "trace/reader/recording_reading.h"

uint32_t
fd_reading_text(fd_reading *r, uint32_t id, size_t skip)
{
    const fd_string *string = fd_chunks_string(&r->file, id);
    uint32_t text = 0;
    if (string != NULL && skip <= string->size) {
        fd_arena_check(&r->arena, fd_text_pool_add_clean(
                                      &r->trace->texts, string->bytes + skip,
                                      string->size - skip, &text));
    }
    return text;
}

uint32_t
fd_reading_add_node(fd_reading *r, const fd_trace_node *node)
{
    uint32_t id;
    fd_arena_check(&r->arena, fd_trace_add_node(r->trace, node, &id));
    return id;
}

uint32_t
fd_reading_add_context(fd_reading *r, const fd_trace_context *context)
{
    uint32_t id;
    fd_arena_check(&r->arena, fd_trace_add_context(r->trace, context, &id));
    return id;
}

void
fd_read_node(fd_reading *r, const fd_node *node)
{
    if (node->kind == 0 || node->kind >= FD_NODE_KINDS) {
        return; /* the module is damaged: its calls are below <lost> */
    }
    fd_trace_node made = {
        .kind = node->kind,
        .from = node->from <= FD_FROM_GENERATED ? node->from : FD_FROM_USER,
        .file = fd_reading_text(r, node->file, node->strip),
        .class_name = fd_reading_text(r, node->class_name, 0),
        .name = fd_reading_text(r, node->name, 0),
        .qualified = fd_reading_text(r, node->qualified, 0),
        .package = fd_reading_text(r, node->package, 0),
        .line = node->line};
    fd_arena_put(&r->arena, &r->nodes, fd_reading_id(r, node),
                 fd_reading_add_node(r, &made));
}

static void
read_module(fd_reading *r, const fd_module *module)
{
    fd_trace_module made = {.parent = fd_map_get(&r->modules, module->parent),
                            .name = fd_reading_text(r, module->name, 0),
                            .class_name =
                                fd_reading_text(r, module->class_name, 0),
                            .parameters = module->parameters,
                            .parameter_bytes = module->parameter_bytes};
    uint32_t id;
    fd_arena_check(&r->arena, fd_trace_add_module(r->trace, &made, &id));
    fd_arena_put(&r->arena, &r->modules, fd_reading_id(r, module), id);
}

void
fd_read_shared(fd_reading *r)
{
    FOR_EACH_RECORD (r, FD_CHUNK_NODES, fd_node, node) {
        fd_read_node(r, node);
    }
    FOR_EACH_RECORD (r, FD_CHUNK_MODULES, fd_module, module) {
        read_module(r, module);
    }
}
