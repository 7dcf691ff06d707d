/* Which nodes communicate, and what: one node of each communication, the one
 * nearest to the wire, with its group, size and peers. */
#ifndef FD_COLLECTIVES_H
#define FD_COLLECTIVES_H

#include "et/et_graph.h"

/* Types of nodes, and their communication. Nodes with both in their file
 * (FD_ET_WRITTEN) are not changed. */
fd_status fd_et_find_comms(fd_et *et);

/* The rank of a trace, by its own collectives and process groups; -1: they do
 * not say. */
int64_t fd_et_find_rank(const fd_et *et);

#endif
