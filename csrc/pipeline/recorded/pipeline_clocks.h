/* Clock offsets between ranks without a common clock, from their transfers:
 * data is received after it is sent. Both directions together bound the
 * offset. */
#ifndef FD_PIPELINE_CLOCKS_H
#define FD_PIPELINE_CLOCKS_H

#include "pipeline/recorded/pipeline_stats.h"

/* Move the times of ranks with an unknown clock (`unsure` -1) to the clock of
 * the first rank of their line, and set `unsure` to the maximum error. Ranks
 * without transfers in both directions stay unknown. Transfers must be
 * matched. */
fd_status fd_pipeline_clocks(fd_pipe *p);

/* Check that ranks of a line have a common clock before transfers bound it.
 * FD_EINVAL: one does not. */
fd_status fd_pipeline_check_clocks(const fd_pipe *p, fd_error *error);

#endif
