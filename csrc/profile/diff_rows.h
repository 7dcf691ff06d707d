/* A comparison: its request, and its rows and calls. */
#ifndef FD_DIFF_ROWS_H
#define FD_DIFF_ROWS_H

#include "profile/call_groups.h"

typedef struct fd_diff_side {
    const fd_trace *trace; /* borrowed */
    int rank;              /* an index, or FD_ALL_RANKS */
} fd_diff_side;

typedef struct fd_diff_request {
    fd_diff_side sides[2]; /* before and after */
    fd_grouping grouping;
    double threshold; /* the minimum relative change of a time */
    bool same_speed;  /* do not divide by the common speed ratio */
} fd_diff_request;

typedef struct fd_diff_figures {
    double calls; /* with resumes of generators */
    double self;  /* ns; this and all below */
    double total;
    double backward;
    double async;
    double gpu;
    double time;   /* the compared time: self, of modules total */
    double least;  /* of self: sum of the fastest step of each context */
    double spread; /* of time over steps: standard deviation */
} fd_diff_figures;

/* The verdict on a row or a call. */
enum {
    FD_DIFF_NEW = 1,
    FD_DIFF_GONE = 2,
    FD_DIFF_CALLS = 4, /* another number of them */
    FD_DIFF_SLOWER = 8,
    FD_DIFF_FASTER = 16,
    FD_DIFF_COLLECTION = 32 /* garbage collections: not compared */
};

typedef struct fd_diff_row {
    uint32_t key;    /* text in fd_diff.keys */
    uint8_t kind;    /* FD_NODE_*; 0 where groups have several */
    uint8_t changes; /* FD_DIFF_* */
    fd_diff_figures side[2];
} fd_diff_row;

typedef struct fd_diff_call {
    uint32_t caller; /* row + 1; 0: the outside */
    uint32_t callee;
    uint8_t changes; /* no times */
    double calls[2];
} fd_diff_call;

typedef struct fd_diff {
    fd_text_pool keys;
    FD_VECTOR(fd_diff_row) rows;
    FD_VECTOR(fd_diff_call) calls;
    uint64_t steps[2];  /* of each side; 0, 0: whole runs are compared */
    double whole[2];    /* ns of all self time of a step */
    bool selected;      /* both sides are reduced to some steps */
    bool by_least;      /* fastest steps are known and compared, too */
    double speed;       /* after / before of unchanged functions: the speed of
                           the machine. Times are compared after division by it
                           */
    double least_speed; /* the same of least steps */
} fd_diff;

#endif
