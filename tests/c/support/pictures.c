#include "pictures.h"

#include "graphs/graph_regions.h"

#include "export/exporters.h"
#include "trace/canonical_order.h"

#include <string.h>

enum { MOST_ROWS = 512, DEEPEST = 9 };

static fd_status
add_node(fd_trace *trace, const picture_call *call, uint32_t *id)
{
    fd_trace_node node = {
        .kind = call->kind, .from = call->from, .line = call->line};
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
add_figure(fd_trace *trace, const picture_call *call, uint32_t context)
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
caller_of(const picture_call *calls, uint32_t at)
{
    uint32_t above = at;
    while (above > 0 && calls[above].depth >= calls[at].depth) {
        above--;
    }
    return calls[at].depth == 0 ? 0 : above + 1;
}

static fd_status
add_call(fd_trace *trace, const picture_call *calls, uint32_t at,
         uint32_t *ids)
{
    fd_trace_context context = {.parent = ids[caller_of(calls, at)],
                                .origin = ids[calls[at].origin],
                                .flags = calls[at].flags};
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

/* Callers precede callees, and origins precede the nodes they created. */
static fd_status
add_calls(fd_trace *trace, const picture_call *calls, uint32_t count,
          bool turned)
{
    uint32_t ids[MOST_ROWS + 1] = {0};
    fd_status status = FD_OK;
    for (uint32_t pass = 0; pass < 2 * DEEPEST; pass++) {
        for (uint32_t i = 0; i < count && status == FD_OK; i++) {
            uint32_t at = turned ? count - 1 - i : i;
            if (calls[at].depth == pass % DEEPEST
                && (calls[at].origin != 0) == (pass >= DEEPEST)) {
                status = add_call(trace, calls, at, ids);
            }
        }
    }
    return status;
}

fd_status
picture_make(picture *p, const picture_call *calls, uint32_t count,
             bool turned)
{
    *p = (picture){.trace = fd_trace_new()};
    p->options = (fd_export_options){.rank = FD_ALL_RANKS, .min_percent = -1};
    fd_status status = p->trace != NULL ? FD_OK : FD_ENOMEM;
    if (status == FD_OK) {
        status = add_calls(p->trace, calls, count, turned);
    }
    return status == FD_OK ? fd_trace_sort(p->trace) : status;
}

void
picture_clear(picture *p)
{
    fd_graph_clear(&p->graph);
    fd_buffer_clear(&p->text);
    fixture_trace_free(&p->trace);
}

fd_status
picture_graph(picture *p)
{
    fd_graph_clear(&p->graph);
    fd_status status = fd_graph_make(&p->graph, p->trace, &p->options);
    return status == FD_OK ? fd_regions_make(&p->graph, &p->options) : status;
}

fd_dot_picture
picture_begin(picture *p)
{
    p->text.size = 0;
    return (fd_dot_picture){.trace = p->trace,
                            .options = &p->options,
                            .graph = &p->graph,
                            .to = &p->text};
}

fd_status
picture_end(picture *p)
{
    fd_buffer_bytes(&p->text, "", 1);
    p->text.size -= p->text.status == FD_OK;
    return p->text.status;
}

fd_status
picture_write(picture *p, const char *format)
{
    picture_begin(p);
    fd_status status =
        fd_exporter_find(format)->write(p->trace, &p->options, &p->text, NULL);
    return status == FD_OK ? picture_end(p) : status;
}

static uint32_t
group_of(const picture *p, const char *key)
{
    for (uint32_t g = 1; g < p->graph.groups.list.count; g++) {
        if (strcmp(fd_groups_label(&p->graph.groups, g), key) == 0) {
            return g;
        }
    }
    return 0;
}

const fd_box *
picture_box(const picture *p, const char *key)
{
    static const fd_box none = {.region = UINT32_MAX, .depth = UINT32_MAX};
    uint32_t at = p->graph.box_of[group_of(p, key)];
    return at == 0 ? &none : &p->graph.boxes.list[at - 1];
}

int64_t
picture_calls(const picture *p, const char *key)
{
    const fd_box *box = picture_box(p, key);
    return box->group == 0 ? -1 : (int64_t)fd_graph_row(&p->graph, box)->calls;
}

fd_edge
picture_edge(const picture *p, const char *caller, const char *callee)
{
    uint32_t from = group_of(p, caller);
    uint32_t into = group_of(p, callee);
    for (uint32_t i = 0; i < p->graph.edges.count; i++) {
        const fd_edge *edge = &p->graph.edges.list[i];
        if (edge->caller == from && edge->callee == into) {
            return *edge;
        }
    }
    return (fd_edge){.calls = UINT64_MAX};
}

int
picture_visibility(const picture *p, const char *key)
{
    return p->graph.selection.visibility[group_of(p, key)];
}

bool
picture_has(const picture *p, const char *part)
{
    const char *at = strstr(p->text.bytes, part);
    return at != NULL && strstr(at + 1, part) == NULL;
}

bool
picture_lacks(const picture *p, const char *part)
{
    return strstr(p->text.bytes, part) == NULL;
}
