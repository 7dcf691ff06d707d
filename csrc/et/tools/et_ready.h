/* When a node of a trace that is played is ready, and what is taken from the
 * measured times for that. */
#ifndef FD_ET_READY_H
#define FD_ET_READY_H

#include "et/tools/et_simulator.h"

/* When edge->to could have begun as far as one edge says, with measured times
 * (`played` false) or played ones, and whose end or begin that was. INT64_MIN:
 * the edge does not hold it up. */
int64_t fd_play_ready_by(const fd_play_rank *rank, const fd_et_edge *edge,
                         bool played, uint32_t *who);

/* Begins, delays, launches; what encloses what, who waited for a kernel. */
void fd_play_measure(fd_play_rank *rank);

static inline bool
fd_play_is_gpu(const fd_et_node *node)
{
    return (node->flags & FD_ET_GPU) != 0;
}

static inline bool
fd_play_communicates(const fd_et_node *node)
{
    return node->type >= FD_ET_SEND && node->comm != 0;
}

static inline int64_t
fd_play_scaled(int64_t ns, double factor)
{
    return fd_whole((double)ns * factor);
}

/* The edges of a node begin at `edge`; where they end. */
static inline uint32_t
fd_play_edges_end(const fd_et *et, uint32_t place, uint32_t edge)
{
    while (edge < et->edges.count && et->edges.list[edge].to == place) {
        edge++;
    }
    return edge;
}

#endif
