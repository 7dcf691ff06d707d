#include "trace/dump/dump_reading.h"

#include "trace/trace_merge.h"

void
fd_load_strings(fd_loading *l, fd_span json)
{
    fd_scan scan = {.at = NULL};
    fd_span item;
    if (json.from == NULL || *json.from != '[') {
        fd_loading_wrong(l, "strings", "an array is missing");
    }
    while (fd_loading_next(&scan, json, &item)) {
        uint32_t id = fd_loading_add_text(l, item, "strings");
        fd_arena_push(&l->arena, &l->texts, id);
    }
}

void
fd_load_nodes(fd_loading *l, fd_span json)
{
    fd_rank_list *from = fd_loading_rows(l, json, &fd_nodes_table);
    const fd_trace_node *nodes = from->list;
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t id = 0;
        if (i > 0 && nodes[i].kind == 0) {
            fd_loading_wrong(l, "nodes.kind", "unknown kind");
        }
        if (i > 0) {
            fd_arena_check(&l->arena,
                           fd_trace_add_node(l->trace, &nodes[i], &id));
        }
        fd_arena_push(&l->arena, &l->nodes, id);
    }
    fd_arena_drop(from);
}

void
fd_load_modules(fd_loading *l, fd_span json)
{
    fd_rank_list *from = fd_loading_rows(l, json, &fd_modules_table);
    fd_trace_module *modules = from->list;
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t id = 0;
        if (i > 0 && modules[i].parent >= i) {
            fd_loading_wrong(l, "modules.parent", "not an earlier module");
        }
        if (i > 0) {
            modules[i].parent = l->modules.list[modules[i].parent];
            fd_arena_check(&l->arena,
                           fd_trace_add_module(l->trace, &modules[i], &id));
        }
        fd_arena_push(&l->arena, &l->modules, id);
    }
    fd_arena_drop(from);
}

static void
check_context(fd_loading *l, fd_trace_context *context, uint32_t count)
{
    if (context->node == 0 || context->node >= l->nodes.count) {
        fd_loading_wrong(l, "contexts.node", "no such node");
    }
    if (context->module >= l->modules.count) {
        fd_loading_wrong(l, "contexts.module", "no such module");
    }
    if (context->parent >= count || context->origin >= count) {
        fd_loading_wrong(l, "contexts", "a parent or origin does not exist");
    }
    context->node = l->nodes.list[context->node];
    context->module = l->modules.list[context->module];
}

void
fd_load_contexts(fd_loading *l, fd_span json)
{
    fd_rank_list *from = fd_loading_rows(l, json, &fd_contexts_table);
    fd_trace_context *contexts = from->list;
    for (uint32_t i = 1; i < from->count; i++) {
        check_context(l, &contexts[i], from->count);
    }
    l->context_count = from->count;
    l->contexts = fd_arena_new(&l->arena, from->count, sizeof *l->contexts);
    fd_arena_check(&l->arena, fd_contexts_merge(l->trace, contexts, NULL,
                                                from->count, l->contexts));
    fd_arena_drop(from);
}
