/* The two ways to draw a graph. Failures stay in picture->to->status. */
#ifndef FD_DOT_STYLES_H
#define FD_DOT_STYLES_H

#include "graphs/box_graph.h"

typedef struct fd_dot_picture {
    const fd_trace *trace; /* borrowed, all of them */
    const fd_export_options *options;
    const fd_graph *graph;
    fd_buffer *to;
} fd_dot_picture;

/* Drawn like the call graphs of Megatron-DeepSpeed that people know. */
void fd_dot_classic(const fd_dot_picture *picture);

/* Packages as clusters, time as colour and line width, figures as tooltips,
 * a legend that says what is hidden. */
void fd_dot_default(const fd_dot_picture *picture);

/* The label of the default picture: what was recorded, what is hidden. */
void fd_dot_legend(const fd_dot_picture *picture);

/* Of the time that shares refer to; at most 1 (other threads have more). */
double fd_dot_share(const fd_dot_picture *picture, uint64_t part);

/* Further attributes of the graph, so that the layout of a large one ends:
 * Graphviz takes a minute for 3 000 boxes without them and seconds with. */
const char *fd_dot_limits(const fd_graph *graph);

/* "1 call", "2 000 calls"; of none: "already running". */
void fd_dot_calls(fd_buffer *to, uint64_t count);

/* Tooltips, the same in both: a box, an edge; with their quotes. */
void fd_dot_box_tooltip(const fd_dot_picture *picture, const fd_box *box);
void fd_dot_edge_tooltip(const fd_dot_picture *picture, const fd_edge *edge);

#endif
