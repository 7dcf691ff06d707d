/* Regions, the clusters of a picture: boxes of one package that call each
 * other. A layout keeps a cluster in one place, so with one cluster per
 * package it would draw a path that leaves the package and returns (train_step
 * -> DistributedDataParallel.forward -> GPT.forward) upside down. */
#ifndef FD_GRAPH_REGIONS_H
#define FD_GRAPH_REGIONS_H

#include "graphs/box_graph.h"

/* Set the region of every box: that of its main caller if both are of one
 * package, otherwise a region shared with the boxes of its package whose main
 * callers are in the same region. Set fd_box.depth and fd_box.above: many
 * boxes without callees side by side are not readable, so those of a region
 * (in the classic style, of the picture) are arranged in several lines. */
fd_status fd_regions_make(fd_graph *graph, const fd_export_options *options);

/* Set, by region, the depth of the deepest box outside that calls into it, +
 * 1. */
void fd_regions_depths(const fd_graph *graph, uint32_t *depths);

#endif
