/* Assignment of contexts to groups: by function, operator, module, package or
 * kernel.
 * Every table and graph is a sum over such groups. */
#ifndef FD_CALL_GROUPS_H
#define FD_CALL_GROUPS_H

#include "base/arena.h"
#include "trace/trace.h"

typedef enum fd_grouping {
    FD_BY_NODE,     /* every node of every kind */
    FD_BY_FUNCTION, /* Python functions and ranges */
    FD_BY_OPERATOR, /* operators and autograd nodes */
    FD_BY_MODULE,   /* module instances, repeats folded: "blocks.*.attn" */
    FD_BY_PACKAGE,  /* packages; operators by their namespace */
    FD_BY_KERNEL    /* kernels, copies and fills of GPUs */
} fd_grouping;

typedef struct fd_group {
    uint32_t label;   /* text in fd_groups.labels */
    uint32_t node;    /* the node, or one of them */
    uint32_t members; /* number of instances folded into it, FD_BY_MODULE
                       * only */
} fd_group;

typedef struct fd_groups {
    fd_arena arena;           /* memory of the lists */
    uint32_t *of_context;     /* 0: not in a group */
    FD_VECTOR(fd_group) list; /* entry 0 unused */
    fd_text_pool labels;
} fd_groups;

fd_status fd_groups_make(fd_groups *groups, const fd_trace *trace,
                         fd_grouping grouping);
void fd_groups_clear(fd_groups *groups);

#endif
