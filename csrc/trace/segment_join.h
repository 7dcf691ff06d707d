/* Join of the segments of a rotated recording to one rank. */
#ifndef FD_SEGMENT_JOIN_H
#define FD_SEGMENT_JOIN_H

#include "trace/trace.h"

/* Return whether two ranks are different segments of one recording. */
bool fd_segments_match(const fd_trace_rank *a, const fd_trace_rank *b);

/* Add up segments of the same recording, in a trace that is not sorted yet.
 * Figures, counters and steps are sums; open calls are those of the last
 * segment; a later fact replaces an earlier one. The result has no marks, so
 * its settled steps are undecided. Each rotated rank gets the fact "segments":
 * how many were read, and the number of the last. With `all`, a rank with
 * missing segments is incomplete and gets a note. FD_ENOMEM is the only
 * failure. */
fd_status fd_segments_join(fd_trace *trace, bool all);

#define FD_SEGMENTS_FACT "segments"

#endif
