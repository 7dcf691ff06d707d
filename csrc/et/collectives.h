/* The communication of nodes: for each communication, the innermost node that
 * describes it, with its group, size and peers. */
#ifndef FD_COLLECTIVES_H
#define FD_COLLECTIVES_H

#include "et/et_graph.h"

/* Set the types of nodes and their communication. Nodes with both in their
 * file (FD_ET_WRITTEN) are not changed. */
void fd_et_find_comms(fd_et *et);

/* Return the rank of a trace, from its collectives and process groups, or -1
 * if it is unknown. */
int64_t fd_et_find_rank(const fd_et *et);

#endif
