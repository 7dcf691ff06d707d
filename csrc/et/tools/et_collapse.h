/* A trace as a graph that is small enough to draw. A box has the calls of one
 * name below one call; if these are too many, all calls of one name. Remaining
 * names share one box. */
#ifndef FD_ET_COLLAPSE_H
#define FD_ET_COLLAPSE_H

#include "et/et_graph.h"

typedef enum fd_et_collapse_mode {
    FD_ET_EACH,      /* a box is a node */
    FD_ET_BY_PARENT, /* one box per name below one box */
    FD_ET_BY_NAME,
    FD_ET_BY_SIZE /* one box per name with the most time or calls; one for the
                     others */
} fd_et_collapse_mode;

typedef struct fd_et_box {
    uint32_t node; /* the place of its first */
    uint64_t count;
    int64_t ns;  /* total time of nodes with times */
    bool others; /* of many names */
    bool gpu;
} fd_et_box;

typedef struct fd_et_line {
    uint32_t from; /* boxes */
    uint32_t to;
    uint64_t calls; /* nodes of `to` below `from` */
    uint64_t counts[FD_ET_KINDS];
} fd_et_line;

typedef struct fd_et_collapsed {
    fd_et_collapse_mode mode;
    FD_VECTOR(fd_et_box) boxes;
    FD_VECTOR(fd_et_line) lines; /* never from a box to itself */
    uint32_t *box_of;            /* of each node; owned */
    uint64_t names;              /* nodes in the box of other names */
} fd_et_collapsed;

/* Build at most `most` boxes, a number from 2 on. Clear it in any case. */
fd_status fd_et_collapse(fd_et_collapsed *collapsed, const fd_et *et,
                         uint32_t most);
void fd_et_collapsed_clear(fd_et_collapsed *collapsed);

#endif
