#include "pipelines.h"

fd_status
pipeline_job(fd_pipe *p, const char *kind, int32_t stage, int32_t micro_batch,
             int64_t start, int64_t end)
{
    return fd_pipeline_add_job(
        p, &(fd_pipe_job){.start = start,
                          .end = end,
                          .row = p->jobs.count,
                          .micro_batch = micro_batch,
                          .stage = stage,
                          .peer = -1,
                          .buffer = -1,
                          .kind = fd_pipe_kind_named(kind)});
}
