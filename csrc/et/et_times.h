/* Times that are missing in the file. */
#ifndef FD_ET_TIMES_H
#define FD_ET_TIMES_H

#include "et/et_graph.h"

/* Nodes without times get the time range of their children (FD_ET_GUESSED);
 * all with a duration but no own time get the duration without their children
 * on the same thread. Does nothing if no node has times. */
fd_status fd_et_fill_times(fd_et *et);

/* Set the own time of each node from the durations. */
void fd_et_find_self(fd_et *et);

#endif
