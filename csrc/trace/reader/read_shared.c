#include "trace/reader/recording_reading.h"

fd_status
fd_reading_text(fd_reading *r, uint32_t id, size_t skip, uint32_t *to)
{
    const fd_string *string = fd_chunks_string(&r->file, id);
    if (string == NULL || skip > string->size) {
        *to = 0;
        return FD_OK;
    }
    return fd_text_pool_add_clean(&r->trace->texts, string->bytes + skip,
                                  string->size - skip, to);
}

fd_status
fd_read_node(fd_reading *r, const fd_node *node)
{
    fd_trace_node made = {
        .kind = node->kind,
        .from = node->from <= FD_FROM_GENERATED ? node->from : FD_FROM_USER,
        .line = node->line};
    if (node->kind == 0 || node->kind >= FD_NODE_KINDS) {
        return FD_OK; /* the module is damaged: its calls are below <lost> */
    }
    uint32_t id;
    fd_status status = fd_reading_text(r, node->file, node->strip, &made.file);
    fd_then(status, fd_reading_text(r, node->class_name, 0, &made.class_name));
    fd_then(status, fd_reading_text(r, node->name, 0, &made.name));
    fd_then(status, fd_reading_text(r, node->qualified, 0, &made.qualified));
    fd_then(status, fd_reading_text(r, node->package, 0, &made.package));
    fd_then(status, fd_trace_add_node(r->trace, &made, &id));
    return fd_then(status, fd_map_put(&r->nodes, fd_reading_id(r, node), id));
}

static fd_status
add_module(fd_reading *r, const fd_module *module)
{
    fd_trace_module made = {.parent = fd_map_get(&r->modules, module->parent),
                            .parameters = module->parameters,
                            .parameter_bytes = module->parameter_bytes};
    uint32_t id;
    fd_status status = fd_reading_text(r, module->name, 0, &made.name);
    fd_then(status,
            fd_reading_text(r, module->class_name, 0, &made.class_name));
    fd_then(status, fd_trace_add_module(r->trace, &made, &id));
    return fd_then(status,
                   fd_map_put(&r->modules, fd_reading_id(r, module), id));
}

fd_status
fd_read_shared(fd_reading *r)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(r, FD_CHUNK_NODES, view)
    {
        const fd_node *nodes = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = fd_read_node(r, &nodes[i]);
        }
    }
    FOR_EACH_CHUNK(r, FD_CHUNK_MODULES, view)
    {
        const fd_module *modules = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = add_module(r, &modules[i]);
        }
    }
    return status;
}
