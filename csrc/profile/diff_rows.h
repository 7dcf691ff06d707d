/* A comparison: its request, and its rows and calls. */
#ifndef FD_DIFF_ROWS_H
#define FD_DIFF_ROWS_H

#include "profile/call_groups.h"

/* Kinds of the own time of a node. */
enum {
    FD_DIFF_WORKS = 0,
    FD_DIFF_MAY_WAIT = 1,  /* it can block: no measure of the machine */
    FD_DIFF_FOR_RANKS = 2, /* communication, and waits for other ranks */
};

typedef struct fd_diff_side {
    const fd_trace *trace; /* borrowed */
    int rank;              /* index of a rank, or FD_ALL_RANKS */
} fd_diff_side;

typedef struct fd_diff_request {
    fd_diff_side sides[2]; /* before and after */
    fd_grouping grouping;
    const uint8_t *waits[2]; /* borrowed; kinds of nodes (FD_DIFF_WORKS,
                              ...), of node 1 first; NULL: all work */
    double threshold;        /* the minimum relative change of a time */
    bool same_speed;         /* do not divide by the common speed ratio */
    double busy[2]; /* time per step on a CPU or waiting for one; 0: unknown.
                         The speed of the machine is within their ratio */
    double idle[2]; /* time per step neither so, nor for other ranks */
} fd_diff_request;

typedef struct fd_diff_figures {
    double calls; /* including resumes of generators */
    double self;  /* ns; also the next ones */
    double total;
    double work; /* total without communication and waits for other ranks */
    double backward;
    double async;
    double gpu;
    double time;    /* the compared time: self; for modules, total */
    double least;   /* of self: sum over contexts of their fastest step */
    double spread;  /* of time over steps: standard deviation */
    uint64_t steps; /* in which one of its contexts ran; 0: unknown */
} fd_diff_figures;

/* The verdict on a row or a call. */
enum {
    FD_DIFF_NEW = 1,
    FD_DIFF_GONE = 2,
    FD_DIFF_CALLS = 4, /* the number of calls differs */
    FD_DIFF_SLOWER = 8,
    FD_DIFF_FASTER = 16,
    FD_DIFF_COLLECTION = 32,  /* a garbage collection, which is not compared */
    FD_DIFF_COMMUNICATES = 64 /* communication, or a wait for other ranks */
};

typedef struct fd_diff_row {
    uint32_t key;    /* text in fd_diff.keys */
    uint8_t kind;    /* FD_NODE_*; 0 if a group has several */
    uint8_t changes; /* FD_DIFF_* */
    bool waits;      /* it is not only work */
    fd_diff_figures side[2];
} fd_diff_row;

typedef struct fd_diff_call {
    uint32_t caller; /* row + 1; 0: outside of all rows */
    uint32_t callee;
    uint8_t changes; /* times are not compared */
    double calls[2];
    uint64_t steps[2]; /* as of a row */
} fd_diff_call;

typedef struct fd_diff {
    fd_text_pool keys;
    FD_VECTOR(fd_diff_row) rows;
    FD_VECTOR(fd_diff_call) calls;
    uint64_t steps[2]; /* number of steps of each side; 0, 0: entire runs are
                         * compared */
    double whole[2];   /* ns of self time per step, of all rows */
    bool selected;     /* both sides are reduced to some steps */
    bool by_least;     /* fastest steps are known and are compared too */
    /* after / before of unchanged functions: the speed of the machine. Times
     * are divided by it before they are compared */
    double speed;
    double least_speed; /* `speed` for fastest steps */
    double idle; /* change of the time of a step in which main threads are
                  * blocked: by locks, devices, files; 0: unknown */
} fd_diff;

#endif
