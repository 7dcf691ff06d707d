/* Transfers between recordings: which receive of one recording matches which
 * send of another. Found before the first recording is copied, so that each
 * flow is written with both ends.
 *
 *     rank 0   SA mb0 ── id 0xc0000007 ──┐     the id is made of the sender's
 *     rank 1   RA mb0                    ▼     rank and job, so it is unique */
#ifndef FD_BETWEEN_RANKS_H
#define FD_BETWEEN_RANKS_H

#include "events/merge_request.h"
#include "events/recorded/pipeline_flows.h"

typedef struct fd_timeline_between {
    fd_transfers transfers; /* owned; of all recordings with jobs */
    /* owned; by input, its index among the recordings + 1; 0: the input is not
     * a recording. NULL: no transfers */
    uint32_t *indexes;
} fd_timeline_between;

/* Find all transfers. Read each recording that has jobs; one is in memory at a time, plus 150
 * bytes per job. */
fd_status fd_timeline_between_find(fd_timeline_between *between,
                                   const fd_timeline_input *inputs,
                                   uint32_t count, fd_error *error);
void fd_timeline_between_clear(fd_timeline_between *between);

/* Return the transfers of an input in `transfers` (borrowed), or false if it
 * has none. */
bool fd_timeline_between_of(const fd_timeline_between *between, uint32_t input,
                            fd_transfers *transfers);

#endif
