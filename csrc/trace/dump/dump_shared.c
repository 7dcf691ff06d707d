#include "trace/dump/dump_reading.h"

#include "trace/trace_merge.h"

fd_status
fd_load_strings(fd_loading *l, fd_span json)
{
    fd_scan scan = {.at = NULL};
    fd_span item;
    fd_status status = FD_OK;
    if (json.from == NULL || *json.from != '[') {
        return fd_loading_wrong(l, "strings", "an array is missing");
    }
    while (status == FD_OK && fd_loading_next(&scan, json, &item)) {
        uint32_t id = 0;
        status = fd_loading_add_text(l, item, "strings", &id);
        fd_then(status, fd_vector_push(&l->texts, id));
    }
    return status;
}

fd_status
fd_load_nodes(fd_loading *l, fd_span json)
{
    fd_rank_list from;
    fd_status status = fd_loading_table(l, json, &fd_nodes_table, &from);
    const fd_trace_node *nodes = from.list;
    for (uint32_t i = 0; i < from.count && status == FD_OK; i++) {
        uint32_t id = 0;
        if (i > 0 && nodes[i].kind == 0) {
            status = fd_loading_wrong(l, "nodes.kind", "unknown kind");
        }
        else if (i > 0) {
            status = fd_trace_add_node(l->trace, &nodes[i], &id);
        }
        fd_then(status, fd_vector_push(&l->nodes, id));
    }
    fd_free(from.list);
    return status;
}

fd_status
fd_load_modules(fd_loading *l, fd_span json)
{
    fd_rank_list from;
    fd_status status = fd_loading_table(l, json, &fd_modules_table, &from);
    fd_trace_module *modules = from.list;
    for (uint32_t i = 0; i < from.count && status == FD_OK; i++) {
        uint32_t id = 0;
        if (i > 0 && modules[i].parent >= i) {
            status =
                fd_loading_wrong(l, "modules.parent", "not an earlier module");
        }
        else if (i > 0) {
            modules[i].parent = l->modules.list[modules[i].parent];
            status = fd_trace_add_module(l->trace, &modules[i], &id);
        }
        fd_then(status, fd_vector_push(&l->modules, id));
    }
    fd_free(from.list);
    return status;
}

static fd_status
check_context(const fd_loading *l, fd_trace_context *context, uint32_t count)
{
    if (context->node == 0 || context->node >= l->nodes.count) {
        return fd_loading_wrong(l, "contexts.node", "no such node");
    }
    if (context->module >= l->modules.count) {
        return fd_loading_wrong(l, "contexts.module", "no such module");
    }
    if (context->parent >= count || context->origin >= count) {
        return fd_loading_wrong(l, "contexts",
                                "a parent or origin does not exist");
    }
    context->node = l->nodes.list[context->node];
    context->module = l->modules.list[context->module];
    return FD_OK;
}

fd_status
fd_load_contexts(fd_loading *l, fd_span json)
{
    fd_rank_list from;
    fd_status status = fd_loading_table(l, json, &fd_contexts_table, &from);
    fd_trace_context *contexts = from.list;
    for (uint32_t i = 1; i < from.count && status == FD_OK; i++) {
        status = check_context(l, &contexts[i], from.count);
    }
    if (status == FD_OK) {
        l->context_count = from.count;
        l->contexts = fd_calloc(from.count, sizeof *l->contexts);
        status = l->contexts == NULL
                   ? FD_ENOMEM
                   : fd_contexts_merge(l->trace, contexts, NULL, from.count,
                                       l->contexts);
    }
    fd_free(from.list);
    return status;
}
