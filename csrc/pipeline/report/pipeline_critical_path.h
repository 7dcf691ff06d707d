/* The chain of jobs that an iteration took as long as, and how much longer
 * each job of it could have taken. */
#ifndef FD_PIPELINE_CRITICAL_PATH_H
#define FD_PIPELINE_CRITICAL_PATH_H

#include "pipeline/report/pipeline_idle.h"

/* A piece of the chain; the pieces lie end to end from the begin of the
 * iteration to its end. */
typedef struct fd_pipe_piece {
    int64_t start;
    int64_t end;
    uint32_t job; /* FD_NO_PIPE_JOB: the rank did nothing, waiting for none */
    uint32_t at;  /* rank */
    uint8_t part;
} fd_pipe_piece;

typedef struct fd_pipe_path {
    FD_VECTOR(fd_pipe_piece) pieces; /* first to last */
} fd_pipe_path;

/* Of a line in one iteration (its place): marks the jobs on the chain and sets
 * `slack` of all. A job with slack 0 could not have taken longer without the
 * iteration taking longer. The gaps in which nothing was waited for stay as
 * they were. The path is to be cleared in any case. */
fd_status fd_pipeline_path(fd_pipe_path *path, fd_pipe *p,
                           const fd_pipe_idle *idle, uint32_t line,
                           uint32_t iteration);
void fd_pipe_path_clear(fd_pipe_path *path);

#endif
