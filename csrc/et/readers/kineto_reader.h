/* The operators and kernels of one rank in a Kineto trace of torch.profiler,
 * with or without ProfilerStep and GPU. */
#ifndef FD_KINETO_READER_H
#define FD_KINETO_READER_H

#include "et/et_graph.h"

typedef struct fd_kineto_op {
    uint64_t rf_id; /* "Record function id"; 0: none */
    uint64_t external;
    uint64_t thread;
    int64_t start;
    int64_t dur;
    int64_t seq;    /* autograd's number; -1: none */
    uint32_t name;  /* text */
    fd_et_io in;    /* position in the file */
    uint32_t place; /* of its node, + 1, once it is linked */
} fd_kineto_op;

typedef struct fd_kineto_kernel {
    uint64_t correlation;
    uint64_t external;
    int64_t start;
    int64_t dur;
    int64_t elements; /* of the message; -1: unknown */
    int32_t stream;
    uint8_t device;
    uint32_t name; /* texts */
    uint32_t category;
    uint32_t group;
    uint32_t dtype;
    uint32_t place; /* of its node, + 1 */
} fd_kineto_kernel;

typedef enum fd_kineto_wait {
    FD_KINETO_NO_WAIT, /* a launch */
    FD_KINETO_DEVICE,  /* the thread waits for all streams */
    FD_KINETO_STREAM,  /* for one, or an event */
    FD_KINETO_COPY     /* for its own work */
} fd_kineto_wait;

/* A call of the CUDA runtime or driver. */
typedef struct fd_kineto_call {
    uint64_t correlation;
    uint64_t thread;
    int64_t start;
    int64_t dur;
    uint32_t op; /* the operator around it, + 1 */
    uint8_t wait;
} fd_kineto_call;

/* An event of category cuda_sync: a waiting stream and the awaited event. */
typedef struct fd_kineto_sync {
    uint64_t correlation;
    uint64_t record; /* of the awaited event; 0: none */
    int32_t stream;
    int32_t source;
    uint8_t device; /* of both */
} fd_kineto_sync;

typedef struct fd_kineto {
    FD_VECTOR(fd_kineto_op) ops;
    FD_VECTOR(fd_kineto_kernel) kernels;
    FD_VECTOR(fd_kineto_call) calls;
    FD_VECTOR(fd_kineto_sync) syncs;
    uint64_t pid;     /* of the operators; 0: none, or several */
    int64_t rank;     /* -1: not known */
    int64_t base_ns;  /* added to all times of the file */
    int64_t begin_ns; /* of the operators */
    int64_t end_ns;
    uint64_t events;
    uint64_t timeless; /* events with an invalid time */
    uint64_t lost;     /* damaged places */
    uint64_t lost_bytes;
    bool all;          /* read operands of operators, too */
    char trouble[128]; /* the first one; "" */
} fd_kineto;

void fd_kineto_clear(fd_kineto *kineto);

/* Read `path`; texts, rank, world, host and groups go into `et`. Clear it in
 * any case. */
fd_status fd_kineto_read(fd_kineto *kineto, fd_et *et, const char *path,
                         fd_error *error);

/* The same, including the operands of operators, which an execution trace has
 * in more detail. */
fd_status fd_kineto_read_all(fd_kineto *kineto, fd_et *et, const char *path,
                             fd_error *error);

/* By thread, then by start; callers before the calls they enclose. */
void fd_kineto_sort_ops(fd_kineto *kineto);

/* Training steps of a trace, for programs that require ProfilerStep#N. */

typedef struct fd_kineto_step {
    int64_t begin; /* ns */
    int64_t end;
    uint32_t number;
    uint32_t label; /* its ProfilerStep#N, + 1; 0 for none */
    uint32_t leaf;  /* the operator that took longest and encloses nothing,
                       + 1; 0: none */
    bool busy;      /* it contains GPU work */
} fd_kineto_step;

typedef FD_VECTOR(fd_kineto_step) fd_kineto_steps;

/* The steps labelled in the trace, else the recorded steps of the thread that
 * ran first; in the order of time. */
fd_status fd_kineto_find_steps(const fd_et *et, fd_kineto_steps *steps);

#endif
