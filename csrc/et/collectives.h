/* The communication of nodes: for each communication, the innermost node that
 * describes it, with its group, size and peers. */
#ifndef FD_COLLECTIVES_H
#define FD_COLLECTIVES_H

#include "et/et_graph.h"

/* Set the types of nodes and their communication. Nodes with both in their
 * file (FD_ET_WRITTEN) are not changed. */
void fd_et_find_comms(fd_et *et);

#endif
