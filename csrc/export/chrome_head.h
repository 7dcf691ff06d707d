/* What Chrome's text of a timeline says before its events: when its 0 was, whose
 * it is, and all facts about the recordings. */
#ifndef FD_CHROME_HEAD_H
#define FD_CHROME_HEAD_H

#include "io/trace.h"

/* Append it up to the begin of the events. `only` is an index into the ranks
 * or FD_ALL_RANKS; there is at least one. */
void fd_chrome_head(const fd_trace *trace, int only, fd_buffer *to);

#endif
