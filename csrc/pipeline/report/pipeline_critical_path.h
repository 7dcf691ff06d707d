/* The critical path of an iteration, and the slack of its jobs. */
#ifndef FD_PIPELINE_CRITICAL_PATH_H
#define FD_PIPELINE_CRITICAL_PATH_H

#include "pipeline/report/pipeline_idle.h"

/* A piece of the path; the pieces cover the iteration without gaps. */
typedef struct fd_pipe_piece {
    int64_t start;
    int64_t end;
    uint32_t job; /* FD_NO_PIPE_JOB: a gap without a cause */
    uint32_t at;  /* index of the rank */
    uint8_t part;
} fd_pipe_piece;

typedef struct fd_pipe_path {
    FD_VECTOR(fd_pipe_piece) pieces; /* from first to last */
} fd_pipe_path;

/* Find the critical path of a line in one iteration (an index), mark its jobs,
 * and set `slack` of all jobs. A longer job with slack 0 makes the iteration
 * longer. Gaps without a cause keep their lengths. Clear the path also after a
 * failure. */
fd_status fd_pipeline_path(fd_pipe_path *path, fd_pipe *p,
                           const fd_pipe_idle *idle, uint32_t line,
                           uint32_t iteration);
void fd_pipe_path_clear(fd_pipe_path *path);

#endif
