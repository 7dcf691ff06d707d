#include "graphs/graph_exports.h"

#include "graphs/box_graph.h"
#include "json/json_writer.h"

#include <string.h>

typedef struct line {
    size_t at; /* offset in the texts */
    const char *text;
} line;

typedef FD_VECTOR(line) lines;

FD_ORDER_AS(by_text, line, strcmp(one->text, other->text))

/* Append one text with its NUL. */
static fd_status
add_line(lines *list, fd_buffer *texts, const char *caller, const char *callee)
{
    line made = {.at = texts->size};
    if (caller != NULL) {
        fd_buffer_text(texts, caller);
        fd_buffer_text(texts, "->");
    }
    fd_buffer_bytes(texts, callee, strlen(callee) + 1);
    return fd_vector_push(list, made);
}

/* Write the lines, sorted. The buffer of texts moves while it grows, so
 * offsets are converted to pointers here. */
static void
write_sorted(fd_json_writer *w, const char *name, lines *list,
             const fd_buffer *texts)
{
    for (uint32_t i = 0; i < list->count; i++) {
        list->list[i].text = texts->bytes + list->list[i].at;
    }
    fd_vector_sort(list, by_text);
    fd_json_begin_array(w, name);
    for (uint32_t i = 0; i < list->count; i++) {
        fd_json_line(w);
        fd_json_put_text(w, NULL, list->list[i].text);
    }
    fd_json_end_array(w);
}

static fd_status
write_both(const fd_graph *graph, fd_buffer *to)
{
    lines nodes = {NULL, 0, 0};
    lines edges = {NULL, 0, 0};
    fd_buffer texts = {.bytes = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < graph->boxes.count && status == FD_OK; i++) {
        status = add_line(&nodes, &texts, NULL,
                          fd_graph_key(graph, &graph->boxes.list[i]));
    }
    for (uint32_t i = 0; i < graph->edges.count && status == FD_OK; i++) {
        const fd_edge *edge = &graph->edges.list[i];
        status = add_line(&edges, &texts,
                          fd_groups_label(&graph->groups, edge->caller),
                          fd_groups_label(&graph->groups, edge->callee));
    }
    fd_then(status, texts.status);
    if (status == FD_OK) {
        fd_json_writer w = {.to = to};
        fd_json_begin_object(&w, NULL);
        write_sorted(&w, "nodes", &nodes, &texts);
        fd_json_line(&w);
        write_sorted(&w, "edges", &edges, &texts);
        fd_json_end_object(&w);
        fd_buffer_text(to, "\n");
    }
    fd_vector_clear(&nodes);
    fd_vector_clear(&edges);
    fd_buffer_clear(&texts);
    return fd_then(status, to->status);
}

fd_status
fd_export_callgraph(const fd_trace *trace, const fd_export_options *options,
                    fd_buffer *to, fd_error *error)
{
    (void)error;
    fd_export_options every = *options;
    fd_graph graph;
    every.style = FD_STYLE_CLASSIC; /* only Python functions, no contraction */
    fd_status status = fd_graph_make(&graph, trace, &every);
    if (status == FD_OK) {
        status = write_both(&graph, to);
        fd_graph_clear(&graph);
    }
    return status;
}
