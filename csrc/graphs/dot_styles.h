/* The two styles of a call graph. Failures are stored in
 * picture->to->status. */
#ifndef FD_DOT_STYLES_H
#define FD_DOT_STYLES_H

#include "graphs/box_graph.h"
#include "graphs/dot_writer.h"

typedef struct fd_dot_picture {
    const fd_trace *trace; /* borrowed, like the next ones */
    const fd_export_options *options;
    const fd_graph *graph;
    fd_dot_writer *dot;
    fd_buffer *to;      /* buffer of `dot` */
    const char *limits; /* further attributes of the graph */
} fd_dot_picture;

/* Write the graph like the call graphs of Megatron-DeepSpeed scripts. */
void fd_dot_classic(const fd_dot_picture *picture);

/* Write the graph with packages as clusters, time as colour and line width,
 * figures as tooltips, and a legend with the number of hidden functions. */
void fd_dot_default(const fd_dot_picture *picture);

/* Write the legend of the default style: recorded time, hidden functions. */
void fd_dot_legend(const fd_dot_picture *picture);

/* Write an invisible edge that places a box of the next line below one of the
 * previous line (fd_box.above). */
void fd_dot_put_below(const fd_dot_picture *picture, uint32_t at);

/* Return the share of fd_graph.whole, at most 1, since other threads may have
 * more. */
double fd_dot_share(const fd_dot_picture *picture, uint64_t part);

/* Append "1 call", "2 000 calls"; "already running" for 0. */
void fd_dot_calls(fd_buffer *to, uint64_t count);

/* Write the tooltip, with quotes, of a box or of an edge; equal in both
 * styles. */
void fd_dot_box_tooltip(const fd_dot_picture *picture, const fd_box *box);
void fd_dot_edge_tooltip(const fd_dot_picture *picture, const fd_edge *edge);

#endif
