/* Reader of the operators and kernels of one rank in a Kineto trace of
 * torch.profiler, with or without ProfilerStep and GPU. */
#ifndef FD_KINETO_READER_H
#define FD_KINETO_READER_H

#include "et/et_graph.h"

typedef struct fd_kineto_op {
    uint64_t rf_id; /* "Record function id"; 0: unknown */
    uint64_t external;
    uint64_t thread;
    int64_t start;
    int64_t dur;
    int64_t seq;   /* autograd's number; -1: unknown */
    uint32_t name; /* text */
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
} fd_kineto_kernel;

typedef enum fd_kineto_wait {
    FD_KINETO_NO_WAIT, /* does not wait, as a launch */
    FD_KINETO_DEVICE,  /* waits for all streams */
    FD_KINETO_STREAM,  /* waits for one stream or an event */
    FD_KINETO_COPY     /* waits for its own work */
} fd_kineto_wait;

/* A call of the CUDA runtime or driver. */
typedef struct fd_kineto_call {
    uint64_t correlation;
    uint64_t thread;
    int64_t start;
    int64_t dur;
    uint8_t wait; /* an fd_kineto_wait */
} fd_kineto_call;

/* An event of category cuda_sync: a waiting stream and the awaited event. */
typedef struct fd_kineto_sync {
    uint64_t correlation;
    uint64_t record; /* correlation of the awaited event; 0: unknown */
    int32_t stream;
    int32_t source;
    uint8_t device; /* of both streams */
} fd_kineto_sync;

typedef struct fd_kineto {
    FD_VECTOR(fd_kineto_op) ops;
    FD_VECTOR(fd_kineto_kernel) kernels;
    FD_VECTOR(fd_kineto_call) calls;
    FD_VECTOR(fd_kineto_sync) syncs;
    uint64_t pid;     /* of the operators; 0: unknown, or several */
    int64_t rank;     /* -1: unknown */
    int64_t base_ns;  /* added to all times of the file */
    int64_t begin_ns; /* of the operators */
    int64_t end_ns;
    uint64_t events;
    uint64_t timeless; /* events with an invalid time */
    uint64_t lost;     /* number of damaged regions */
    uint64_t lost_bytes;
    char trouble[128]; /* message about the first damage, or "" */
} fd_kineto;

/* Read `path`; texts, rank, world, host and groups go into `et`, whose arena
 * has the lists. */
fd_status fd_kineto_read(fd_kineto *kineto, fd_et *et, const char *path,
                         fd_error *error);

#endif
