#include "graphs/callgraph_graphml.h"

#include "graphs/box_graph.h"
#include "graphs/graph_text.h"
#include "trace/trace_columns.h"

static const char head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
    "<key id=\"key\" for=\"node\" attr.name=\"key\" attr.type=\"string\"/>\n"
    "<key id=\"kind\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n"
    "<key id=\"package\" for=\"node\" attr.name=\"package\""
    " attr.type=\"string\"/>\n"
    "<key id=\"file\" for=\"node\" attr.name=\"file\" attr.type=\"string\"/>\n"
    "<key id=\"line\" for=\"node\" attr.name=\"line\" attr.type=\"int\"/>\n"
    "<key id=\"calls\" for=\"all\" attr.name=\"calls\" attr.type=\"long\"/>\n"
    "<key id=\"total\" for=\"all\" attr.name=\"total_ns\""
    " attr.type=\"long\"/>\n"
    "<key id=\"self\" for=\"node\" attr.name=\"self_ns\""
    " attr.type=\"long\"/>\n"
    "<key id=\"backward\" for=\"node\" attr.name=\"backward_ns\""
    " attr.type=\"long\"/>\n"
    "<key id=\"gpu\" for=\"node\" attr.name=\"gpu_ns\" attr.type=\"long\"/>\n"
    "<graph edgedefault=\"directed\">\n";

static void
write_text(fd_buffer *to, const char *key, const char *text, size_t size)
{
    fd_buffer_format(to, "<data key=\"%s\">", key);
    fd_text_xml(to, text, size);
    fd_buffer_text(to, "</data>");
}

static void
write_number(fd_buffer *to, const char *key, long long value)
{
    fd_buffer_format(to, "<data key=\"%s\">%lld</data>", key, value);
}

static void
write_pooled(fd_buffer *to, const char *key, const fd_trace *trace,
             uint32_t text)
{
    write_text(to, key, fd_text_pool_get(&trace->texts, text),
               fd_text_pool_size(&trace->texts, text));
}

static void
write_box(fd_buffer *to, const fd_trace *trace, const fd_graph *graph,
          const fd_box *box)
{
    const fd_group *group = &graph->groups.list.list[box->group];
    const fd_trace_node *node = &trace->nodes.list[group->node];
    const fd_row *row = fd_graph_row(graph, box);
    const fd_text_pool *labels = &graph->groups.labels;
    fd_buffer_format(to, "<node id=\"n%u\">", box->group);
    write_text(to, "key", fd_text_pool_get(labels, group->label),
               fd_text_pool_size(labels, group->label));
    fd_buffer_format(to, "<data key=\"kind\">%s</data>",
                     fd_kind_names[node->kind]);
    write_pooled(to, "package", trace, node->package);
    if (node->file != 0) {
        write_pooled(to, "file", trace, node->file);
        write_number(to, "line", node->line);
    }
    write_number(to, "calls", (long long)(row->calls + row->resumes));
    if (graph->timed) {
        write_number(to, "total", (long long)row->total);
        write_number(to, "self", (long long)row->self);
        write_number(to, "backward", row->backward);
    }
    write_number(to, "gpu", (long long)row->gpu_total);
    fd_buffer_text(to, "</node>\n");
}

static void
write_edge(fd_buffer *to, const fd_graph *graph, const fd_edge *edge)
{
    fd_buffer_format(to, "<edge source=\"n%u\" target=\"n%u\">", edge->caller,
                     edge->callee);
    write_number(to, "calls", (long long)edge->calls);
    if (graph->timed) {
        write_number(to, "total", (long long)edge->total);
    }
    fd_buffer_text(to, "</edge>\n");
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
    fd_buffer_text(to, head);
    for (uint32_t i = 0; i < graph.boxes.count; i++) {
        write_box(to, trace, &graph, &graph.boxes.list[i]);
    }
    for (uint32_t i = 0; i < graph.edges.count; i++) {
        write_edge(to, &graph, &graph.edges.list[i]);
    }
    fd_buffer_text(to, "</graph>\n</graphml>\n");
    fd_graph_clear(&graph);
    return to->status;
}
