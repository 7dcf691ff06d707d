/* The rows of a comparison of execution traces. */
#ifndef FD_ET_DIFF_ROWS_H
#define FD_ET_DIFF_ROWS_H

#include "et/et_graph.h"

/* Name, shapes, types and communication of a call: texts of fd_et_diff. */
typedef struct fd_et_signature {
    uint32_t name;
    uint32_t shapes[2]; /* of inputs and of outputs */
    uint32_t types[2];
    uint32_t comm; /* text of collective, size, group and peers; 0: no
                    * communication */
} fd_et_signature;

/* Differences between two signatures. */
enum {
    FD_ET_SHAPES_DIFFER = 1,
    FD_ET_TYPES_DIFFER = 2,
    FD_ET_COMMS_DIFFER = 4
};

/* The number of ranks with a difference, and the first such rank. */
typedef struct fd_et_diff_ranks {
    uint32_t count;
    uint32_t last; /* the latest rank + 1 */
    int64_t first;
} fd_et_diff_ranks;

typedef struct fd_et_diff_name {
    uint32_t name;
    uint64_t count[2];      /* on all ranks */
    int64_t ns[2];          /* total time of the calls */
    uint64_t rank_count[2]; /* on the current rank */
    int64_t rank_ns[2];
    fd_et_diff_ranks counts; /* ranks whose counts differ, and whose times
                              * differ */
    fd_et_diff_ranks times;
} fd_et_diff_name;

/* A call that is in both traces with different signatures. */
typedef struct fd_et_diff_change {
    uint32_t signatures[2]; /* indices in `signatures` + 1 */
    uint32_t what;          /* mask of FD_ET_SHAPES_DIFFER ... */
    uint64_t count;
    uint64_t id[2]; /* ids of the first such call */
    fd_et_diff_ranks ranks;
} fd_et_diff_change;

/* A call that is in one trace only, and whose parent is in both. */
typedef struct fd_et_diff_only {
    uint32_t side;
    uint32_t name;
    uint32_t parent; /* name of the parent; 0: no parent */
    uint64_t count;
    uint64_t nodes; /* including all calls below */
    uint64_t id;    /* id of the first such call */
    fd_et_diff_ranks ranks;
} fd_et_diff_only;

typedef struct fd_et_diff {
    double threshold; /* relative; negative: times are not compared */
    uint32_t ranks;   /* number of ranks compared */
    uint64_t nodes[2];
    uint64_t paired;
    uint32_t timed[2];                /* number of ranks with times */
    FD_VECTOR(fd_et_diff_name) names; /* all names, including equal ones */
    FD_VECTOR(fd_et_diff_change) changed;
    FD_VECTOR(fd_et_diff_only) only;
    FD_VECTOR(fd_et_signature) signatures;
    uint64_t edges[FD_ET_KINDS][2];
    uint64_t shared[FD_ET_KINDS]; /* edges between nodes that are in both */
    fd_text_pool texts;
    fd_text_pool keys; /* signatures as bytes */
    fd_map name_rows;  /* name + 1 -> row + 1 */
    fd_map changed_rows;
    fd_map only_rows[2];
} fd_et_diff;

#endif
