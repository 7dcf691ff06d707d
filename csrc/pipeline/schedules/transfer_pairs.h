/* Which send belongs to which receive. A transfer is known by its direction,
 * the lower of its two global stages and its micro-batch. */
#ifndef FD_TRANSFER_PAIRS_H
#define FD_TRANSFER_PAIRS_H

#include "pipeline/schedules/schedule_plan.h"

/* `others`, one a job of the plan, gets the place of the other end of each
 * transfer, `none` for what is no transfer. FD_EINVAL names one that has not
 * exactly one. */
fd_status fd_pairs_find(uint32_t *others, uint32_t none, const fd_plan *plan,
                        fd_error *error);

#endif
