/* Jobs of recorded pipelines, for tests. */
#ifndef PIPELINES_H
#define PIPELINES_H

#include "check.h"

#include "pipeline/recorded/pipeline_stats.h"

/* Add a job of the last rank. */
fd_status pipeline_job(fd_pipe *p, const char *kind, int32_t stage,
                       int32_t micro_batch, int64_t start, int64_t end);

#endif
