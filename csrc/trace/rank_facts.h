/* Facts of a rank: host, coordinates, clock. */
#ifndef FD_RANK_FACTS_H
#define FD_RANK_FACTS_H

#include "base/buffer.h"
#include "trace/trace.h"

/* "rank 3 | node7 | pipe 1, data 0", as far as recorded; appended. The place
 * is the fact "coordinates". */
void fd_rank_label(const fd_trace *trace, const fd_trace_rank *rank,
                   fd_buffer *to);

/* The last fact with a key, as JSON; NULL without one. */
const char *fd_rank_fact(const fd_trace *trace, const fd_trace_rank *rank,
                         const char *key);

/* Nanoseconds to add to times of this rank so that all are on the clock of the
 * first: exact on one host, the wall clocks' difference across hosts. */
int64_t fd_rank_offset(const fd_trace *trace, const fd_trace_rank *rank);

/* The offset of the rank that started first: the origin of timelines. */
int64_t fd_first_offset(const fd_trace *trace);

#endif
