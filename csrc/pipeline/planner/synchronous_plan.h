/* The pipeline of the shortest step under a synchronous schedule, in place of
 * the asynchronous one that was found; with the second best and what would
 * change it. */
#ifndef FD_SYNCHRONOUS_PLAN_H
#define FD_SYNCHRONOUS_PLAN_H

#include "pipeline/planner/planner.h"

/* FD_EINVAL: figures out of range, a schedule no engine would run, fewer layers
 * than parts, or no room: the message says on which rank, and how much is
 * missing. */
fd_status fd_synchronous_check(const fd_pipeline_request *request,
                               fd_error *error);
fd_status fd_synchronous_find(fd_pipeline *pipeline,
                              const fd_pipeline_request *request,
                              fd_error *error);

#endif
