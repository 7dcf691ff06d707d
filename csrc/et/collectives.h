/* Which nodes communicate, and what: one node of each communication, the one
 * nearest to the wire, with its group, size and peers. */
#ifndef FD_COLLECTIVES_H
#define FD_COLLECTIVES_H

#include "et/et_graph.h"

/* Types of nodes, and their communication. Nodes whose file says so
 * (FD_ET_WRITTEN) stay as they are. */
fd_status fd_et_find_comms(fd_et *et);

#endif
