#include "profile/call_groups.h"

#include "base/map.h"
#include "recording/node_table.h"

#include <ctype.h>
#include <string.h>

static bool
takes_part(fd_grouping grouping, const fd_trace_node *node, uint32_t module)
{
    switch (grouping) {
    case FD_BY_NODE:
    case FD_BY_PACKAGE:
        return true;
    case FD_BY_FUNCTION:
        return fd_kind_is_function(node->kind) || node->kind == FD_NODE_RANGE;
    case FD_BY_OPERATOR:
        return node->kind == FD_NODE_OP || node->kind == FD_NODE_AUTOGRAD;
    case FD_BY_MODULE:
        return module != 0;
    case FD_BY_KERNEL:
        return node->kind == FD_NODE_KERNEL;
    }
    return false;
}

/* Append the pattern of a module: "blocks.*.attn", with '*' for numbers. */
static void
module_pattern(const fd_trace *trace, uint32_t module, fd_buffer *to)
{
    fd_buffer name = {.bytes = NULL};
    fd_trace_module_name(trace, module, &name);
    if (name.size == 0) {
        fd_buffer_text(
            to, fd_trace_text(trace, trace->modules.list[module].class_name));
    }
    for (size_t at = 0; at < name.size;) {
        size_t end = at;
        bool number = true;
        while (end < name.size && name.bytes[end] != '.') {
            number = number && isdigit((unsigned char)name.bytes[end]);
            end++;
        }
        fd_buffer_bytes(to, number ? "*" : name.bytes + at,
                        number ? 1 : end - at);
        fd_buffer_text(to, end < name.size ? "." : "");
        at = end + 1;
    }
    to->status = to->status == FD_OK ? name.status : to->status;
    fd_buffer_clear(&name);
}

/* Append the package; that of an operator is its namespace. Garbage
 * collections are separate from other ranges. */
static void
package_label(const fd_trace *trace, const fd_trace_node *node, fd_buffer *to)
{
    const char *name = fd_trace_text(trace, node->name);
    const char *colon = strstr(name, "::");
    if (fd_kind_is_function(node->kind)) {
        fd_buffer_text(to, fd_trace_text(trace, node->package));
    }
    else if (node->kind == FD_NODE_OP && colon != NULL) {
        fd_buffer_bytes(to, name, (size_t)(colon - name) + 2);
    }
    else if (fd_trace_is_collection(trace,
                                    (uint32_t)(node - trace->nodes.list))) {
        fd_buffer_text(to, "gc:");
    }
    else {
        static const char *const names[FD_NODE_KINDS] = {
            "",        "",        "operators", "autograd", "ranges", "jobs",
            "modules", "threads", "<folded>",  "",         "kernels"};
        fd_buffer_text(to, names[node->kind]);
    }
}

static void
label_of(const fd_trace *trace, fd_grouping grouping,
         const fd_trace_context *context, fd_buffer *to)
{
    switch (grouping) {
    case FD_BY_MODULE:
        module_pattern(trace, context->module, to);
        break;
    case FD_BY_PACKAGE:
        package_label(trace, &trace->nodes.list[context->node], to);
        break;
    case FD_BY_NODE:
    case FD_BY_FUNCTION:
    case FD_BY_OPERATOR:
    case FD_BY_KERNEL:
        fd_trace_node_key(trace, context->node, to);
        break;
    }
}

/* Return a key that decides the group without its label: one lookup per
 * context instead of a text. */
static uint64_t
short_key(fd_grouping grouping, const fd_trace_context *context)
{
    return grouping == FD_BY_MODULE
             ? (uint64_t)context->module << 32 | UINT32_MAX
             : context->node;
}

typedef struct grouping_state {
    const fd_trace *trace;
    fd_groups *groups;
    fd_grouping grouping;
    fd_arena *arena;  /* memory of the next three */
    fd_map *by_key;   /* short key -> group */
    fd_map *by_label; /* label -> group */
    fd_buffer *label; /* temporary */
} grouping_state;

static uint32_t
new_group(grouping_state *s, const fd_trace_context *context)
{
    uint32_t label;
    fd_groups *groups = s->groups;
    s->label->size = 0;
    label_of(s->trace, s->grouping, context, s->label);
    fd_arena_check(s->arena, s->label->status);
    fd_arena_check(s->arena, fd_text_pool_add(&groups->labels, s->label->bytes,
                                              s->label->size, &label));
    /* Label 0 is the empty text, which is a separate group. Nodes of two kinds
     * can have the same label. */
    uint32_t group = s->grouping == FD_BY_NODE
                       ? 0
                       : fd_map_get(s->by_label, (uint64_t)label + 1);
    if (group == 0) {
        group = groups->list.count;
        fd_arena_push(&groups->arena, &groups->list,
                      (fd_group){.label = label, .node = context->node});
        fd_arena_put(s->arena, s->by_label, (uint64_t)label + 1, group);
    }
    groups->list.list[group].members++;
    return group;
}

static uint32_t
group_of_context(grouping_state *s, const fd_trace_context *context)
{
    const fd_trace_node *node = &s->trace->nodes.list[context->node];
    if (!takes_part(s->grouping, node, context->module)) {
        return 0;
    }
    uint64_t key = short_key(s->grouping, context);
    uint32_t group = fd_map_get(s->by_key, key);
    if (group == 0) {
        group = new_group(s, context);
        fd_arena_put(s->arena, s->by_key, key, group);
    }
    return group;
}

fd_status
fd_groups_make(fd_groups *groups, const fd_trace *trace, fd_grouping grouping)
{
    *groups = (fd_groups){.of_context = NULL};
    fd_arena *arena = &groups->arena;
    if (fd_arena_caught(arena, NULL)) {
        fd_groups_clear(groups);
        return FD_ENOMEM;
    }
    fd_arena *part = fd_arena_part(arena);
    grouping_state s = {trace,
                        groups,
                        grouping,
                        part,
                        fd_arena_map(part),
                        fd_arena_map(part),
                        fd_arena_buffer(part)};
    groups->of_context =
        fd_arena_new(arena, trace->contexts.count, sizeof *groups->of_context);
    fd_arena_push(arena, &groups->list, (fd_group){.label = 0});
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        groups->of_context[i] = group_of_context(&s, &trace->contexts.list[i]);
    }
    fd_arena_drop(part);
    return fd_arena_left(arena);
}

void
fd_groups_clear(fd_groups *groups)
{
    fd_arena_clear(&groups->arena);
    fd_text_pool_clear(&groups->labels);
    *groups = (fd_groups){.of_context = NULL};
}
