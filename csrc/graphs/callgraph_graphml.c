#include "graphs/graph_exports.h"

#include "graphs/box_graph.h"
#include "graphs/graphml_writer.h"

#include <string.h>

/* The keys; figures of nodes and edges are the columns of the tables. */
static const fd_graphml_key keys[] = {
    {"key", "node", "key", "string"},
    {"kind", "node", "kind", "string"},
    {"from", "node", "from", "string"},
    {"package", "node", "package", "string"},
    {"file", "node", "file", "string"},
    {"class", "node", "class", "string"},
    {"name", "node", "name", "string"},
    {"qualified", "node", "qualified", "string"},
    {"line", "node", "line", "int"},
    {"calls", "all", "calls", "long"},
    {"resumes", "all", "resumes", "long"},
    {"ops", "node", "ops", "long"},
    {"self", "node", "self_ns", "long"},
    {"total", "all", "total_ns", "long"},
    {"backward", "node", "backward_ns", "long"},
    {"async", "node", "async_ns", "long"},
    {"hidden", "node", "hidden", "long"},
    {"gpu_calls", "node", "gpu_calls", "long"},
    {"gpu_self", "node", "gpu_self_ns", "long"},
    {"gpu_total", "node", "gpu_ns", "long"},
    {"gpu_starved", "node", "gpu_starved", "long"},
    {"step_mean", "node", "step_mean_ns", "double"},
    {"step_deviation", "node", "step_deviation_ns", "double"},
};

static void
put_pooled(const fd_graphml_writer *w, const char *key,
           const fd_text_pool *texts, uint32_t text)
{
    if (text != 0) {
        fd_graphml_put_bytes(w, key, fd_text_pool_get(texts, text),
                             fd_text_pool_size(texts, text));
    }
}

/* Write the columns of integers and doubles; without times if the recording
 * has none. */
static void
put_figures(const fd_graphml_writer *w, const fd_table *table, bool timed,
            const void *row)
{
    for (size_t i = 0; i < table->count; i++) {
        const fd_column *column = &table->columns[i];
        uint64_t value = fd_cell(column, row);
        double number;
        bool is_time =
            column->unit != NULL && strncmp(column->name, "gpu", 3) != 0;
        if (column->type == FD_COLUMN_INDEX || (is_time && !timed)) {
            continue;
        }
        if (column->type == FD_COLUMN_DOUBLE) {
            memcpy(&number, &value, sizeof number);
            fd_graphml_put_double(w, column->name, number);
        }
        else {
            fd_graphml_put_i64(w, column->name, (int64_t)value);
        }
    }
}

static void
write_box(const fd_graphml_writer *w, const fd_trace *trace,
          const fd_graph *graph, const fd_box *box)
{
    const fd_group *group = &graph->groups.list.list[box->group];
    const fd_trace_node *node = &trace->nodes.list[group->node];
    fd_graphml_begin_node(w, box->group);
    fd_graphml_put_text(w, "key", fd_groups_label(&graph->groups, box->group));
    fd_graphml_put_text(w, "kind", fd_kind_names[node->kind]);
    fd_graphml_put_text(w, "from", fd_from_names[node->from]);
    put_pooled(w, "package", &trace->texts, node->package);
    put_pooled(w, "file", &trace->texts, node->file);
    put_pooled(w, "class", &trace->texts, node->class_name);
    put_pooled(w, "name", &trace->texts, node->name);
    put_pooled(w, "qualified", &trace->texts, node->qualified);
    if (node->file != 0) {
        fd_graphml_put_i64(w, "line", node->line);
    }
    put_figures(w, &fd_rows_table, graph->timed, fd_graph_row(graph, box));
    fd_graphml_end_node(w);
}

static void
write_edge(const fd_graphml_writer *w, const fd_graph *graph,
           const fd_edge *edge)
{
    fd_graphml_begin_edge(w, edge->caller, edge->callee);
    put_figures(w, &fd_edges_table, graph->timed, edge);
    fd_graphml_end_edge(w);
}

fd_status
fd_export_graphml(const fd_trace *trace, const fd_export_options *options,
                  fd_buffer *to, fd_error *error)
{
    (void)error;
    fd_export_options every = *options;
    fd_graph graph;
    every.style = FD_STYLE_DEFAULT; /* including ranges */
    every.all = true;
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
