/* Pairs of sends and receives. A transfer is identified by its direction, the
 * lower of its two global stages and its micro-batch. */
#ifndef FD_TRANSFER_PAIRS_H
#define FD_TRANSFER_PAIRS_H

#include "pipeline/schedules/schedule_plan.h"

/* Set `others`, one per job of the plan, to the place of the other end of each
 * transfer; `none` for other jobs. FD_EINVAL names a transfer without exactly
 * one. */
fd_status fd_pairs_find(uint32_t *others, uint32_t none, const fd_plan *plan,
                        fd_error *error);

#endif
