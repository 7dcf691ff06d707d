/* Derivation of times that are missing in the file. */
#ifndef FD_ET_TIMES_H
#define FD_ET_TIMES_H

#include "et/et_graph.h"

/* Set missing times: nodes without times get the time range of their children
 * (FD_ET_GUESSED); nodes with a duration but no own time get the duration
 * minus that of their children on the same thread. Do nothing if no node has
 * times. */
void fd_et_fill_times(fd_et *et);

/* Set the own time of each node from the durations. */
void fd_et_find_self(fd_et *et);

#endif
