#include "graphs/callgraph_graphml.h"

#include "graphs/box_graph.h"
#include "graphs/graphml_writer.h"
#include "trace/trace_columns.h"

static const fd_graphml_key keys[] = {
    {"key", "node", "key", "string"},
    {"kind", "node", "kind", "string"},
    {"package", "node", "package", "string"},
    {"file", "node", "file", "string"},
    {"line", "node", "line", "int"},
    {"calls", "all", "calls", "long"},
    {"total", "all", "total_ns", "long"},
    {"self", "node", "self_ns", "long"},
    {"backward", "node", "backward_ns", "long"},
    {"gpu", "node", "gpu_ns", "long"},
};

static void
put_pooled(const fd_graphml_writer *w, const char *key,
           const fd_text_pool *texts, uint32_t text)
{
    fd_graphml_put_bytes(w, key, fd_text_pool_get(texts, text),
                         fd_text_pool_size(texts, text));
}

static void
write_box(const fd_graphml_writer *w, const fd_trace *trace,
          const fd_graph *graph, const fd_box *box)
{
    const fd_group *group = &graph->groups.list.list[box->group];
    const fd_trace_node *node = &trace->nodes.list[group->node];
    const fd_row *row = fd_graph_row(graph, box);
    fd_graphml_begin_node(w, box->group);
    put_pooled(w, "key", &graph->groups.labels, group->label);
    fd_graphml_put_text(w, "kind", fd_kind_names[node->kind]);
    put_pooled(w, "package", &trace->texts, node->package);
    if (node->file != 0) {
        put_pooled(w, "file", &trace->texts, node->file);
        fd_graphml_put_i64(w, "line", node->line);
    }
    fd_graphml_put_i64(w, "calls", (int64_t)(row->calls + row->resumes));
    if (graph->timed) {
        fd_graphml_put_i64(w, "total", (int64_t)row->total);
        fd_graphml_put_i64(w, "self", (int64_t)row->self);
        fd_graphml_put_i64(w, "backward", row->backward);
    }
    fd_graphml_put_i64(w, "gpu", (int64_t)row->gpu_total);
    fd_graphml_end_node(w);
}

static void
write_edge(const fd_graphml_writer *w, const fd_graph *graph,
           const fd_edge *edge)
{
    fd_graphml_begin_edge(w, edge->caller, edge->callee);
    fd_graphml_put_i64(w, "calls", (int64_t)edge->calls);
    if (graph->timed) {
        fd_graphml_put_i64(w, "total", (int64_t)edge->total);
    }
    fd_graphml_end_edge(w);
}

fd_status
fd_export_graphml(const fd_trace *trace, const fd_export_options *options,
                  fd_buffer *to, fd_error *error)
{
    (void)error;
    fd_export_options every = *options;
    fd_graph graph;
    every.style = FD_STYLE_CLASSIC; /* nothing is folded */
    fd_status status = fd_graph_make(&graph, trace, &every);
    if (status != FD_OK) {
        return status;
    }
    const fd_graphml_writer w = {.to = to, .prefix = "n"};
    fd_graphml_begin(&w, keys, sizeof keys / sizeof *keys);
    for (uint32_t i = 0; i < graph.boxes.count; i++) {
        write_box(&w, trace, &graph, &graph.boxes.list[i]);
    }
    for (uint32_t i = 0; i < graph.edges.count; i++) {
        write_edge(&w, &graph, &graph.edges.list[i]);
    }
    fd_graphml_end(&w);
    fd_graph_clear(&graph);
    return to->status;
}
