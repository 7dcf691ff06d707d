#include "graphs/dot_styles.h"

#include "graphs/graph_regions.h"
#include "graphs/graph_text.h"
#include "recording/node_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TITLE = 44, LINE = 20, WHERE = 26 };

/* Backgrounds of clusters, tints of the colours of packages on the page
 * (page/assets/page.css): others, project, torch, aten, autograd, stdlib, and
 * the two other packages with most time. A cluster has no frame that an edge
 * could be drawn over. */
static const char *const tints[] = {"#F0F1F3", "#FDEFDC", "#DDF0FE",
                                    "#E7F9EA", "#F5E4F3", "#F1EBDD",
                                    "#DDFBFD", "#FBE3E9"};
enum { FIRST_FREE = 6, TINTS = sizeof tints / sizeof *tints };

/* Append a colour from white to orange-red by the time spent in a box: the
 * root of the share, since half of all time in one box is rare, and 5 % must
 * be visible. */
static void
put_heat(const fd_dot_picture *p, const fd_box *box)
{
    double at = sqrt(fd_dot_share(p, box->own));
    int green = (int)lround(255 - 150 * at);
    int blue = (int)lround(255 - 215 * at);
    fd_buffer_format(fd_dot_put(p->dot, "fillcolor"), "\"#FF%02X%02X\"",
                     (unsigned)green, (unsigned)blue);
}

static const char *
base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash == NULL ? file : slash + 1;
}

/* Append "GPT.forward", a long one in two lines; code outside of functions is
 * named by its file. */
static void
append_title(const fd_dot_picture *p, const fd_trace_node *node)
{
    fd_buffer text = {.bytes = NULL};
    const char *name = fd_trace_text(p->trace, node->name);
    const char *class_name = fd_trace_text(p->trace, node->class_name);
    if (strcmp(name, "<module>") == 0) {
        name = base_name(fd_trace_text(p->trace, node->file));
    }
    if (class_name[0] != '\0') {
        fd_buffer_text(&text, class_name);
        fd_buffer_text(&text, ".");
    }
    if (text.size > 0 && text.size + strlen(name) > LINE) {
        fd_text_html(p->to, text.bytes, text.size, TITLE);
        fd_buffer_text(p->to, "<BR/>");
        text.size = 0;
    }
    fd_buffer_text(&text, name);
    if (node->ambiguous) {
        fd_buffer_format(&text, "@%u", node->line);
    }
    /* record_function("") is legal; Graphviz rejects an empty B. */
    fd_buffer_text(&text, text.size == 0 ? "(no name)" : "");
    p->to->status = text.status != FD_OK ? text.status : p->to->status;
    fd_text_html(p->to, text.bytes, text.size, TITLE);
    fd_buffer_clear(&text);
}

/* Append the end of a long path, which identifies the file better than the
 * start. */
static void
append_place(const fd_dot_picture *p, const char *file)
{
    size_t size = strlen(file);
    const char *from = size > WHERE ? strchr(file + size - WHERE, '/') : file;
    from = from == NULL ? base_name(file) : from;
    fd_buffer_text(p->to, from != file ? "\xE2\x80\xA6" : "");
    fd_text_html(p->to, from, strlen(from), 2 * WHERE);
}

/* Begin a line below the title. Graphviz rejects an empty FONT. */
static void
open_line(const fd_dot_picture *p, const char *colour)
{
    fd_buffer_format(p->to, "<BR/><FONT POINT-SIZE=\"12\" COLOR=\"%s\">",
                     colour);
}

static void
close_line(const fd_dot_picture *p)
{
    fd_buffer_text(p->to, "</FONT>");
}

static void
module_line(const fd_dot_picture *p, const fd_box *box)
{
    open_line(p, "#5B6570");
    if (box->pattern != 0) {
        const char *text = fd_groups_label(&p->graph->modules, box->pattern);
        fd_text_html(p->to, text, strlen(text), TITLE);
        fd_buffer_format(p->to, " \xC3\x97 %u", box->instances);
    }
    else {
        fd_buffer_format(p->to, "%u modules", box->instances);
    }
    close_line(p);
}

static void
figures_line(const fd_dot_picture *p, const fd_row *row)
{
    open_line(p, "#20262E");
    if (p->graph->timed) {
        fd_text_percent(p->to, row->total, p->graph->whole);
        fd_buffer_text(p->to, " \xC2\xB7 ");
    }
    fd_dot_calls(p->to, row->calls);
    close_line(p);
}

static void
append_label(const fd_dot_picture *p, const fd_box *box)
{
    const fd_group *group = &p->graph->groups.list.list[box->group];
    const fd_trace_node *node = &p->trace->nodes.list[group->node];
    const char *file = fd_trace_text(p->trace, node->file);
    const char *name = fd_trace_text(p->trace, node->name);
    fd_buffer_text(p->to, "<<B>");
    append_title(p, node);
    fd_buffer_text(p->to, "</B>");
    if (file[0] != '\0' && strcmp(name, "<module>") != 0) {
        open_line(p, "#5B6570");
        append_place(p, file);
        close_line(p);
    }
    if (box->instances > 1) {
        module_line(p, box);
    }
    figures_line(p, fd_graph_row(p->graph, box));
    fd_buffer_text(p->to, ">");
}

static void
write_box(const fd_dot_picture *p, uint32_t at)
{
    const fd_box *box = &p->graph->boxes.list[at];
    fd_dot_begin_node(p->dot, at + 1);
    put_heat(p, box);
    fd_dot_put(p->dot, "label");
    append_label(p, box);
    fd_dot_put(p->dot, "tooltip");
    fd_dot_box_tooltip(p, box);
    fd_dot_end_statement(p->dot);
    fd_dot_put_below(p, at);
}

/* Return the number of a package with a fixed colour, or 0. */
static uint32_t
fixed_tint(const char *package)
{
    static const char *const fixed[] = {"project", "torch", "aten", "autograd",
                                        "stdlib"};
    for (uint32_t i = 0; i < FIRST_FREE - 1; i++) {
        if (strcmp(package, fixed[i]) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Return the time in the Python functions of each package; the caller frees
 * it. */
static uint64_t *
package_times(const fd_dot_picture *p)
{
    const fd_graph *graph = p->graph;
    uint64_t *times = fd_calloc(graph->packages.list.count, sizeof *times);
    for (uint32_t i = 1; i < p->trace->contexts.count && times != NULL; i++) {
        uint32_t node = p->trace->contexts.list[i].node;
        if (fd_kind_is_function(p->trace->nodes.list[node].kind)) {
            times[graph->packages.of_context[i]] += graph->totals.list[i].self;
        }
    }
    return times;
}

static const char *
tint_of(const fd_dot_picture *p, uint32_t package, const uint64_t *times)
{
    const fd_groups *packages = &p->graph->packages;
    const char *name = fd_groups_label(packages, package);
    uint32_t at = fixed_tint(name);
    if (at != 0) {
        return tints[at];
    }
    at = FIRST_FREE;
    for (uint32_t other = 1; other < packages->list.count; other++) {
        const char *label = fd_groups_label(packages, other);
        bool before =
            times[other] > times[package]
            || (times[other] == times[package] && strcmp(label, name) < 0);
        at += before && times[other] > 0 && fixed_tint(label) == 0;
    }
    return at < TINTS ? tints[at] : tints[0];
}

static void
write_cluster(const fd_dot_picture *p, uint32_t region, uint32_t package,
              const uint64_t *times)
{
    const char *name = fd_groups_label(&p->graph->packages, package);
    const char *tint = tint_of(p, package, times);
    fd_dot_begin_cluster(p->dot, region);
    fd_dot_put_label(p->dot, name, TITLE);
    fd_dot_put_tooltip(p->dot, name, TITLE);
    fd_dot_put_text(p->dot, "bgcolor", tint);
    fd_dot_put_text(p->dot, "color", tint);
    fd_dot_put_word(p->dot, "labelloc", "t");
    fd_dot_put_text(p->dot, "fontcolor", "#5B6570");
    fd_dot_end_attributes(p->dot);
    for (uint32_t i = 0; i < p->graph->boxes.count; i++) {
        if (p->graph->boxes.list[i].region == region) {
            write_box(p, i);
        }
    }
    fd_dot_end_cluster(p->dot);
}

static void
write_clusters(const fd_dot_picture *p)
{
    uint32_t written = 0; /* regions are numbered in the order of boxes */
    uint64_t *times = package_times(p);
    if (times == NULL) {
        p->to->status = FD_ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < p->graph->boxes.count; i++) {
        const fd_box *box = &p->graph->boxes.list[i];
        if (box->region > written) {
            written = box->region;
            write_cluster(p, written, box->package, times);
        }
    }
    fd_free(times);
}

static uint64_t
size_of(const fd_dot_picture *p, const fd_edge *edge)
{
    return p->options->weight == FD_WEIGHT_CALLS ? edge->calls : edge->total;
}

/* Return the weight of an edge in the layout. Inside a cluster the expensive
 * path is drawn straight. Between clusters only the deepest caller is
 * weighted: the layout can draw such edges upwards, and a cluster must be
 * below its callers and not beside them. */
static uint32_t
weight_of(const fd_dot_picture *p, const fd_edge *edge, const uint32_t *depths,
          double size)
{
    const fd_graph *graph = p->graph;
    const fd_box *caller = &graph->boxes.list[graph->box_of[edge->caller] - 1];
    const fd_box *callee = &graph->boxes.list[graph->box_of[edge->callee] - 1];
    if (caller->region == callee->region) {
        return 1 + (uint32_t)(20 * size);
    }
    return caller->depth + 1 == depths[callee->region] ? 20 : 1;
}

static void
write_edge(const fd_dot_picture *p, const fd_edge *edge,
           const uint32_t *depths, uint64_t largest)
{
    double size = sqrt((double)size_of(p, edge) / (double)largest);
    fd_dot_begin_edge(p->dot, p->graph->box_of[edge->caller],
                      p->graph->box_of[edge->callee]);
    fd_buffer_format(fd_dot_put(p->dot, "penwidth"), "%.2f", 0.7 + 4.3 * size);
    fd_dot_put_number(p->dot, "weight", weight_of(p, edge, depths, size));
    fd_dot_put(p->dot, "tooltip");
    fd_dot_edge_tooltip(p, edge);
    fd_dot_end_statement(p->dot);
}

static void
write_edges(const fd_dot_picture *p)
{
    uint64_t largest = 1;
    uint32_t *depths = fd_calloc(p->graph->regions + 1, sizeof *depths);
    if (depths == NULL) {
        p->to->status = FD_ENOMEM;
        return;
    }
    fd_regions_depths(p->graph, depths);
    for (uint32_t i = 0; i < p->graph->edges.count; i++) {
        uint64_t size = size_of(p, &p->graph->edges.list[i]);
        largest = size > largest ? size : largest;
    }
    for (uint32_t i = 0; i < p->graph->edges.count; i++) {
        write_edge(p, &p->graph->edges.list[i], depths, largest);
    }
    fd_free(depths);
}

static void
begin_picture(const fd_dot_picture *p)
{
    char defaults[600];
    snprintf(defaults, sizeof defaults,
             "graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, "
             "labelloc=b, labeljust=l, ranksep=0.35, nodesep=0.14, "
             "style=rounded%s]\n"
             "node [shape=box, style=\"rounded,filled\", color=\"#8893A0\", "
             "fontname=\"Helvetica,Arial,sans-serif\", fontsize=13, "
             "margin=\"0.07,0.05\"]\n"
             "edge [color=\"#5F6B7A\", arrowsize=0.7]\n",
             p->limits);
    fd_dot_begin(p->dot, "callgraph", defaults);
}

void
fd_dot_default(const fd_dot_picture *p)
{
    begin_picture(p);
    fd_dot_legend(p);
    write_clusters(p);
    write_edges(p);
    fd_dot_end(p->dot);
}
