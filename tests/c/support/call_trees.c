#include "call_trees.h"

#include "export/exporters.h"
#include "trace/canonical_order.h"

#include <string.h>

enum { MOST_ROWS = 512 };

static fd_status
add_node(fd_trace *trace, const tree_call *call, uint32_t *id)
{
    fd_trace_node node = {.kind = call->kind, .line = call->line};
    const char *package = call->package != NULL ? call->package : "";
    const char *qualified = call->qualified != NULL ? call->qualified : "";
    fd_status status = call->kind == FD_NODE_PYTHON
                         ? fixture_split_name(trace, call->name, &node)
                         : fixture_text(trace, call->name, &node.name);
    if (status == FD_OK) {
        status = fixture_text(trace, package, &node.package);
    }
    if (status == FD_OK) {
        status = fixture_text(trace, qualified, &node.qualified);
    }
    return status == FD_OK ? fd_trace_add_node(trace, &node, id) : status;
}

static fd_status
add_module(fd_trace *trace, const char *name, uint32_t *id)
{
    fd_trace_module root = {.parent = 0};
    fd_trace_module module = {.parent = 0};
    fd_status status = fixture_text(trace, "GPT", &root.class_name);
    if (status == FD_OK) {
        status = fd_trace_add_module(trace, &root, &module.parent);
    }
    if (status == FD_OK) {
        status = fixture_text(trace, name, &module.name);
    }
    return status == FD_OK ? fd_trace_add_module(trace, &module, id) : status;
}

static fd_status
add_figure(fd_trace *trace, const tree_call *call, uint32_t context)
{
    while (trace->ranks.count <= call->rank) {
        fd_trace_rank *rank = fd_trace_add_rank(trace);
        if (rank == NULL) {
            return FD_ENOMEM;
        }
        rank->rank = trace->ranks.count - 1;
    }
    fd_figure figure = {.context = context,
                        .calls = call->calls,
                        .resumes = call->resumes,
                        .self = call->self};
    return fd_vector_push(&trace->ranks.list[call->rank].figures, figure);
}

/* The row of the caller of row `at`, from 1. */
static uint32_t
caller_of(const tree_call *calls, uint32_t at)
{
    uint32_t above = at;
    while (above > 0 && calls[above].depth >= calls[at].depth) {
        above--;
    }
    return calls[at].depth == 0 ? 0 : above + 1;
}

static fd_status
add_call(fd_trace *trace, const tree_call *calls, uint32_t at, uint32_t *ids)
{
    fd_trace_context context = {.parent = ids[caller_of(calls, at)]};
    fd_status status = add_node(trace, &calls[at], &context.node);
    if (status == FD_OK && calls[at].module != NULL) {
        status = add_module(trace, calls[at].module, &context.module);
    }
    if (status == FD_OK) {
        status = fd_trace_add_context(trace, &context, &ids[at + 1]);
    }
    return status == FD_OK ? add_figure(trace, &calls[at], ids[at + 1])
                           : status;
}

fd_status
call_tree_make(call_tree *t, const tree_call *calls, uint32_t count)
{
    uint32_t ids[MOST_ROWS + 1] = {0};
    *t = (call_tree){.trace = fd_trace_new(),
                     .options = {.rank = FD_ALL_RANKS}};
    fd_status status = t->trace != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        status = add_call(t->trace, calls, i, ids);
    }
    return status == FD_OK ? fd_trace_sort(t->trace) : status;
}

void
call_tree_clear(call_tree *t)
{
    fd_buffer_clear(&t->text);
    fixture_trace_free(&t->trace);
}

fd_status
call_tree_write(call_tree *t, const char *format)
{
    t->text.size = 0;
    fd_status status =
        fd_exporter_find(format)->write(t->trace, &t->options, &t->text, NULL);
    if (status != FD_OK) {
        return status;
    }
    fd_buffer_bytes(&t->text, "", 1);
    t->text.size -= t->text.status == FD_OK;
    return t->text.status;
}
