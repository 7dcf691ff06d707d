/* Which receive of which recording took what a send of another sent: known
 * before the first recording is copied, so that each arrow has both ends.
 *
 *     rank 0   SA mb0 ── id 0xc0000007 ──┐     the id is made of the sender's
 *     rank 1   RA mb0                    ▼     rank and job: no other has it */
#ifndef FD_BETWEEN_RANKS_H
#define FD_BETWEEN_RANKS_H

#include "events/event_inputs.h"
#include "events/recorded/pipeline_flows.h"

typedef struct fd_timeline_between {
    fd_transfers transfers; /* owned; of all recordings with jobs */
    uint32_t
        *places; /* owned; by input, its place among the recordings plus 1;
                         0: not a recording. NULL: no transfers */
} fd_timeline_between;

/* The clocks and the steps of the inputs are known. Reads each recording that
 * has jobs; one is in memory at a time, plus 150 bytes per job. */
fd_status fd_timeline_between_find(fd_timeline_between *between,
                                   const fd_timeline_inputs *inputs,
                                   fd_error *error);
void fd_timeline_between_clear(fd_timeline_between *between);

/* Those of an input, borrowed; false: it has none. */
bool fd_timeline_between_of(const fd_timeline_between *between, uint32_t input,
                            fd_transfers *transfers);

#endif
