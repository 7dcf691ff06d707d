/* The graph to draw: boxes and edges, with exact figures.
 *
 * A function that is not drawn is contracted: its callees become callees of
 * its callers, so that the calls and times of the edges into a box are always
 * those of its function. The edges of deleted functions (--hide) are deleted
 * instead. */
#ifndef FD_BOX_GRAPH_H
#define FD_BOX_GRAPH_H

#include "graphs/function_selection.h"
#include "profile/group_edges.h"

typedef struct fd_box {
    uint32_t group;     /* in fd_graph.groups */
    uint32_t package;   /* group in fd_graph.packages */
    uint32_t region;    /* from 1; set by graph_regions.h, like the next two */
    uint32_t depth;     /* longest distance from the top */
    uint32_t above;     /* index + 1 of a box that does not call it and below
                         * which it is placed; 0: no such box */
    uint32_t pattern;   /* group in fd_graph.modules; 0: no module, or several
                         * patterns */
    uint32_t instances; /* number of modules whose forward it is */
    uint64_t own;       /* ns of self time, including functions folded into
                         * it */
} fd_box;

typedef struct fd_graph {
    fd_totals totals;
    fd_groups groups; /* by node */
    fd_groups packages;
    fd_groups modules;
    fd_rows rows; /* of groups */
    fd_selection selection;
    FD_VECTOR(fd_box) boxes; /* in call-tree order */
    uint32_t regions;
    uint32_t *box_of; /* owned; by group, index into boxes + 1 */
    fd_edges edges;   /* between groups with boxes */
    uint64_t whole;   /* ns of which shares are computed: time of the main
                       * threads */
    uint64_t outside; /* ns spent outside of boxes and of their callees */
    uint32_t idle;    /* number of functions that ran only in idle threads, not
                       * drawn */
    bool timed;       /* false: all "ns" are numbers of calls, with those
                       * below */
} fd_graph;

fd_status fd_graph_make(fd_graph *graph, const fd_trace *trace,
                        const fd_export_options *options);
void fd_graph_clear(fd_graph *graph);

static inline const fd_row *
fd_graph_row(const fd_graph *graph, const fd_box *box)
{
    return &graph->rows.list[box->group];
}

static inline const char *
fd_graph_key(const fd_graph *graph, const fd_box *box)
{
    return fd_groups_label(&graph->groups, box->group);
}

#endif
