/* Sums of the figures of all ranks, for readers that need no more: the memory
 * of a trace then does not grow with the number of ranks. */
#ifndef FD_FIGURE_SUMS_H
#define FD_FIGURE_SUMS_H

#include "trace/trace.h"

/* Figures by id of the context. Zero-initialized memory is empty. */
typedef struct fd_figure_sums {
    FD_VECTOR(fd_figure) figures;
    uint32_t ranks; /* number of ranks that were added */
} fd_figure_sums;

/* Add the figures of the ranks after the first `sums->ranks`, and free
 * them. */
fd_status fd_figure_sums_add(fd_figure_sums *sums, fd_trace *trace);

/* Move the sums to the first rank. The others have no figures. */
void fd_figure_sums_move(fd_figure_sums *sums, fd_trace *trace);

void fd_figure_sums_clear(fd_figure_sums *sums);

#endif
