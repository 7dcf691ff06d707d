/* Times that no file gives. */
#ifndef FD_ET_TIMES_H
#define FD_ET_TIMES_H

#include "et/et_graph.h"

/* Of nodes without times the stretch of what they enclose (FD_ET_GUESSED); of
 * all, the time without what they enclose on their thread, where a duration is
 * known and that is not. Nothing where no node has times. */
fd_status fd_et_fill_times(fd_et *et);

/* The time of a node without what it encloses, from the durations. */
void fd_et_find_self(fd_et *et);

#endif
