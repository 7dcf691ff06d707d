/* Jobs: the units of a pipeline schedule (forward, send, ...), with the fields
 * that distinguish them. A job is a range of the open stack whose owner is its
 * record:
 *
 *     stack   train | job | forward | ...          file   fd_job
 *                      └─ owner ──────────────────────────► { start, mb, ... }
 *
 * The record exists from the start of the job, so that the recording of a hung
 * process contains the micro-batch and the peer that it waits for. Jobs have
 * records only if the timeline contains jobs; otherwise a job is a range like
 * any other. Only the owner writes; adding a chunk takes the recording's
 * lock. */
#ifndef FD_JOB_TABLE_H
#define FD_JOB_TABLE_H

#include "recording/context_tree.h"

/* Create the record of a job that begins now, for an entry of `tree`. `what`
 * has all fields except start and thread. Return NULL if the timeline has no
 * jobs, or if there is no space, which is counted. */
fd_job *fd_jobs_begin(fd_tree *tree, const fd_job *what);

/* Return the index of the topmost entry of a job that `object` opened, or
 * -1. */
int64_t fd_jobs_find(const fd_tree *tree, const void *object);

#endif
