/* Reduction of the ranks of traces to one: for each call path the sums of its
 * figures, and the spread over ranks: minimum, maximum, the ranks that have
 * them, and sketches. Its size does not depend on the number of ranks. Sums of
 * sums give the same bytes as the sum of all ranks, in any order. */
#ifndef FD_RANK_REDUCTION_H
#define FD_RANK_REDUCTION_H

#include "trace/trace.h"

/* Make a sorted trace with the sum of all ranks of the traces, which may be
 * such sums themselves. `about` is JSON, the fact "reduced" of the sum; its
 * other facts are those of the lowest rank. `limit` is the number of call
 * paths from which on the deepest are counted together (deep_paths.h).
 * FD_ENOMEM is the only failure. */
fd_status fd_ranks_reduce(fd_trace **made, const fd_trace *const *traces,
                          size_t count, const char *about, uint32_t limit);

/* The fact with the description of the summed ranks. */
#define FD_REDUCED_FACT "reduced"

#endif
