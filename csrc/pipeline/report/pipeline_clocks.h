/* The clocks of ranks that share none, from their transfers alone: nothing is
 * received before it is sent. Both directions together bound the difference. */
#ifndef FD_PIPELINE_CLOCKS_H
#define FD_PIPELINE_CLOCKS_H

#include "pipeline/report/pipeline_stats.h"

/* Moves the times of ranks whose clock is not known (`unsure` -1) to that of
 * the first rank of their line, and says in `unsure` how far off they may be.
 * Ranks without transfers in both directions stay unknown. Transfers are
 * matched. */
fd_status fd_pipeline_clocks(fd_pipe *p);

/* Receives that ended before their send began. */
uint32_t fd_pipeline_early(const fd_pipe *p);

#endif
