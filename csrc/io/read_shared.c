#include "base/utf8.h"
#include "io/reading.h"

static bool
is_clean(const char *text, size_t size)
{
    size_t length = 1;
    for (size_t at = 0; at < size && length > 0; at += length) {
        length = text[at] == '\0' ? 0 : fd_utf8_length(text + at, size - at);
    }
    return length > 0;
}

static fd_status
add_repaired(fd_text_pool *pool, const char *text, size_t size, uint32_t *to)
{
    fd_buffer clean = {.bytes = NULL};
    for (size_t at = 0; at < size;) {
        size_t length = text[at] == '\0' ? 0
                                         : fd_utf8_length(text + at, size - at);
        if (length == 0) {
            fd_buffer_text(&clean, "\xEF\xBF\xBD");
            length = 1;
        }
        else {
            fd_buffer_bytes(&clean, text + at, length);
        }
        at += length;
    }
    fd_status status = clean.status == FD_OK
                           ? fd_text_pool_add(pool, clean.bytes, clean.size, to)
                           : clean.status;
    fd_buffer_clear(&clean);
    return status;
}

fd_status
fd_reading_text(fd_reading *r, uint32_t id, size_t skip, uint32_t *to)
{
    const fd_string *string = fd_chunks_string(&r->file, id);
    if (string == NULL || skip > string->size) {
        *to = 0;
        return FD_OK;
    }
    const char *text = string->bytes + skip;
    size_t size = string->size - skip;
    return is_clean(text, size)
               ? fd_text_pool_add(&r->trace->texts, text, size, to)
               : add_repaired(&r->trace->texts, text, size, to);
}

static fd_status
add_node(fd_reading *r, const fd_node *node)
{
    fd_trace_node made = {
        .kind = node->kind,
        .from = node->from <= FD_FROM_GENERATED ? node->from : FD_FROM_USER,
        .line = node->line};
    if (node->kind == 0 || node->kind >= FD_NODE_KINDS) {
        return FD_OK; /* damaged: its calls are <lost> */
    }
    uint32_t id;
    fd_status status = fd_reading_text(r, node->file, node->strip, &made.file);
    if (status == FD_OK) {
        status = fd_reading_text(r, node->class_name, 0, &made.class_name);
    }
    if (status == FD_OK) {
        status = fd_reading_text(r, node->name, 0, &made.name);
    }
    if (status == FD_OK) {
        status = fd_reading_text(r, node->qualified, 0, &made.qualified);
    }
    if (status == FD_OK) {
        status = fd_reading_text(r, node->package, 0, &made.package);
    }
    if (status == FD_OK) {
        status = fd_trace_add_node(r->trace, &made, &id);
    }
    return status != FD_OK ? status
                           : fd_map_put(&r->nodes, fd_reading_id(r, node), id);
}

static fd_status
add_module(fd_reading *r, const fd_module *module)
{
    fd_trace_module made = {.parent = fd_map_get(&r->modules,
                                                 module->parent)};
    uint32_t id;
    fd_status status = fd_reading_text(r, module->name, 0, &made.name);
    if (status == FD_OK) {
        status = fd_reading_text(r, module->class_name, 0, &made.class_name);
    }
    if (status == FD_OK) {
        status = fd_trace_add_module(r->trace, &made, &id);
    }
    return status != FD_OK ? status
                           : fd_map_put(&r->modules, fd_reading_id(r, module), id);
}

fd_status
fd_read_shared(fd_reading *r)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(r, FD_CHUNK_NODES, view) {
        const fd_node *nodes = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = add_node(r, &nodes[i]);
        }
    }
    FOR_EACH_CHUNK(r, FD_CHUNK_MODULES, view) {
        const fd_module *modules = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = add_module(r, &modules[i]);
        }
    }
    return status;
}
