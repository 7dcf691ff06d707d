#include "graphs/graph_exports.h"

#include "graphs/dot_styles.h"
#include "graphs/graph_regions.h"

enum { LARGE = 250 };

/* Return further attributes of a large graph, which limit the layout: Graphviz
 * needs a minute for 3 000 boxes without them and seconds with them. In the
 * classic style half of the width is space between lines. */
static const char *
limits_of(const fd_graph *graph, const fd_export_options *options)
{
    if (graph->boxes.count < LARGE) {
        return "";
    }
    return options->style == FD_STYLE_CLASSIC
             ? ", splines=line, nslimit=0.2, nslimit1=0.2, mclimit=0.05, "
               "nodesep=0.02"
             : ", splines=line, nslimit=0.2, nslimit1=0.2, mclimit=0.05";
}

fd_status
fd_export_dot(const fd_trace *trace, const fd_export_options *options,
              fd_buffer *to, fd_error *error)
{
    fd_graph graph;
    if (options->weight == FD_WEIGHT_GPU) {
        return fd_fail(error, FD_EINVAL,
                       "a picture has lines by time or calls, not by GPU");
    }
    fd_status status = fd_graph_make(&graph, trace, options);
    fd_then(status, fd_regions_make(&graph, options));
    if (status != FD_OK) {
        fd_graph_clear(&graph);
        return status;
    }
    fd_dot_writer dot = {.to = to};
    fd_dot_picture picture = {.trace = trace,
                              .options = options,
                              .graph = &graph,
                              .dot = &dot,
                              .to = to,
                              .limits = limits_of(&graph, options)};
    if (options->style == FD_STYLE_CLASSIC) {
        fd_dot_classic(&picture);
    }
    else {
        fd_dot_default(&picture);
    }
    fd_graph_clear(&graph);
    return to->status;
}
