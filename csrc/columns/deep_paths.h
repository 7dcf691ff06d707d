/* A bound on the number of call paths of a sum of ranks: if it has more, calls
 * on the deepest ones are counted together, in one context "<deep>" below the
 * nearest caller that is kept, or "<deep asynchronous>".
 *
 * The depth of a root is 1, that of another call path is one more than the
 * depth of its caller, or of its forward call if that is deeper. Call paths up
 * to a depth are kept, and so are their callers and forward calls. Sums of
 * sums have the bytes of the sum of all ranks, in any order: a sum keeps the
 * depth, and the figures of "<deep>" are sums only, without a spread over
 * ranks. */
#ifndef FD_DEEP_PATHS_H
#define FD_DEEP_PATHS_H

#include "trace/trace.h"

/* Replace a sorted trace, whose only rank is a sum, by one with at most
 * `limit` call paths without those of "<deep>"; roots are kept in any case.
 * FD_ENOMEM is the only failure. */
fd_status fd_deep_paths_fold(fd_trace **trace, uint32_t limit);

#endif
