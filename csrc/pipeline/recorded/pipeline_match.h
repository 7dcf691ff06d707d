/* Match recorded sends and receives: the same line, iteration, direction,
 * lower global stage and micro-batch. */
#ifndef FD_PIPELINE_MATCH_H
#define FD_PIPELINE_MATCH_H

#include "pipeline/recorded/pipeline_stats.h"

typedef FD_VECTOR(uint32_t) fd_pipe_list;

typedef struct fd_pipe_matches {
    uint32_t matched;   /* transfers with both ends */
    uint32_t local;     /* number of matched transfers within a rank */
    fd_pipe_list alone; /* transfers without another end */
} fd_pipe_matches;

/* Set `other` of transfers. If a transfer is posted in one job and awaited in
 * another, both point to the first job of the other end. */
fd_status fd_pipeline_match(fd_pipe_matches *found, fd_pipe *p);
void fd_pipe_matches_clear(fd_pipe_matches *found);

#endif
