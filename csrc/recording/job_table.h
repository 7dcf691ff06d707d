/* Jobs: the units of a pipeline schedule (forward, send, ...), with the fields
 * that distinguish them. A job is a range of the open stack whose owner is its
 * record:
 *
 *     stack   train | job | forward | ...          file   fd_job
 *                      └─ owner ──────────────────────────► { start, mb, ... }
 *
 * The record exists from the start, so that the recording of a hung
 * process has the micro-batch and peer of its wait. Records are made where the timeline
 * has jobs; without one a job is a range like any other. The owner alone
 * writes; a new chunk takes the recording's lock. */
#ifndef FD_JOB_TABLE_H
#define FD_JOB_TABLE_H

#include "recording/context_tree.h"

/* The record of a job that begins now, for an entry of `tree`: `what` without
 * its start and thread. NULL: no timeline of jobs, or (counted) no
 * room. */
fd_job *fd_jobs_begin(fd_tree *tree, const fd_job *what);

/* The topmost open job that `object` opened: its entry; -1 without. */
int64_t fd_jobs_find(const fd_tree *tree, const void *object);

#endif
