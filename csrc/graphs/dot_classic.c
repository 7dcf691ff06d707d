#include "graphs/dot_styles.h"

#include "graphs/graph_text.h"

#include <stdio.h>
#include <string.h>

enum {
    COLOURS = 10,
    LINE = 120 /* characters per path component */
};

/* Colours of edges, by their caller. Boxes are numbered in call-tree order, so
 * neighbours differ. */
static const char *const colours[COLOURS] = {
    "#E6194B", "#3CB44B", "#4363D8", "#F58231", "#911EB4",
    "#008080", "#F032E6", "#9A6324", "#000075", "#808000"};

/* Return whether `file` is in a folder of that name. */
static bool
in_folder(const char *file, const char *folder)
{
    size_t size = strlen(folder);
    for (const char *at = file; (at = strstr(at, folder)) != NULL; at++) {
        if ((at == file || at[-1] == '/') && at[size] == '/') {
            return true;
        }
    }
    return false;
}

static const char *
fill_color(const fd_dot_picture *p, const fd_box *box)
{
    uint32_t node = p->graph->groups.list.list[box->group].node;
    const char *file =
        fd_trace_text(p->trace, p->trace->nodes.list[node].file);
    if (in_folder(file, "megatron")) {
        return "#73FBFD";
    }
    return in_folder(file, "deepspeed") ? "#FA8D89" : "#C0C0C0";
}

/* Append a key with one path component per line; ':' ends a line too. */
static void
append_label(fd_buffer *to, const char *key)
{
    const char *end = key + strlen(key);
    fd_buffer_text(to, "\"");
    for (const char *at = key; at < end; at++) {
        size_t size = strcspn(at, "/:");
        fd_text_dot(to, at, size, LINE);
        at += size;
        fd_buffer_text(to, at < end ? "\\n" : "");
        /* "aten::mm" has one line break. */
        at += at + 1 < end && at[0] == ':' && at[1] == ':';
    }
    fd_buffer_text(to, "\"");
}

static void
begin_picture(const fd_dot_picture *p)
{
    char defaults[300];
    snprintf(defaults, sizeof defaults,
             "graph [bgcolor=gray, ratio=compress, nodesep=0.08%s]\n"
             "node [shape=plaintext, style=filled, fontsize=16]\n"
             "node [margin=\"0.04,0.03\"]\n"
             "edge [penwidth=2.0]\n",
             p->limits);
    fd_dot_begin(p->dot, "callgraph", defaults);
}

void
fd_dot_classic(const fd_dot_picture *p)
{
    const fd_graph *graph = p->graph;
    begin_picture(p);
    for (uint32_t i = 0; i < graph->boxes.count; i++) {
        const fd_box *box = &graph->boxes.list[i];
        fd_dot_begin_node(p->dot, i + 1);
        fd_dot_put_text(p->dot, "fillcolor", fill_color(p, box));
        append_label(fd_dot_put(p->dot, "label"), fd_graph_key(graph, box));
        fd_dot_put(p->dot, "tooltip");
        fd_dot_box_tooltip(p, box);
        fd_dot_end_statement(p->dot);
        fd_dot_put_below(p, i);
    }
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const fd_edge *edge = &graph->edges.list[i];
        uint32_t source = graph->box_of[edge->caller];
        fd_dot_begin_edge(p->dot, source, graph->box_of[edge->callee]);
        fd_dot_put_text(p->dot, "color", colours[source % COLOURS]);
        fd_dot_put(p->dot, "tooltip");
        fd_dot_edge_tooltip(p, edge);
        fd_dot_end_statement(p->dot);
    }
    fd_dot_end(p->dot);
}
