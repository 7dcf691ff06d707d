/* The communication of nodes: one node per communication, the innermost one,
 * with its group, size and peers. */
#ifndef FD_COLLECTIVES_H
#define FD_COLLECTIVES_H

#include "et/et_graph.h"

/* Set the types of nodes and their communication. Nodes with both in their
 * file (FD_ET_WRITTEN) are not changed. */
fd_status fd_et_find_comms(fd_et *et);

/* The rank of a trace, from its collectives and process groups; -1:
 * unknown. */
int64_t fd_et_find_rank(const fd_et *et);

#endif
