/* The steps in which Python (read/kineto_link.py) links an execution trace
 * with the Kineto trace of its rank. */
#ifndef FD_ET_LINK_H
#define FD_ET_LINK_H

#include "et/readers/kineto_reader.h"

/* Fixed-size rows from outside. */
typedef struct fd_et_rows {
    const void *list;
    size_t bytes;
} fd_et_rows;

typedef void fd_et_link_step(fd_et *et, const fd_kineto *kineto,
                             fd_et_rows rows);

/* Run a step. FD_EINVAL: rows of a wrong number, or with indexes of other
 * nodes. After a failure, clear `et`. */
fd_status fd_et_link(fd_et *et, const fd_kineto *kineto, fd_et_link_step *step,
                     fd_et_rows rows, fd_error *error);

typedef struct fd_et_time {
    int64_t start_ns;
    int64_t dur_ns;
    uint64_t thread;
    uint64_t linked; /* 0: only the thread is known */
} fd_et_time;

/* Set times and threads, an fd_et_time per node; then find times that are
 * still missing. */
fd_et_link_step fd_et_set_times;

/* Add all kernels, each below the node that launched it: a reference, uint32_t,
 * per kernel. Ids of kernels are above all others. */
fd_et_link_step fd_et_add_kernels;

/* Add edges: rows of fd_et_edge. */
fd_et_link_step fd_et_add_edges;

/* Reorder the nodes, given as indexes, uint32_t, with ids from 1 on. Call
 * fd_et_complete next. */
fd_et_link_step fd_et_reorder;

#endif
