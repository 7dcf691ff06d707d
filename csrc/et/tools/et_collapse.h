/* A trace as a graph that is small enough to draw: calls of one name below one
 * call are one box; if too many, all calls of one name; the rest is one box
 * more. */
#ifndef FD_ET_COLLAPSE_H
#define FD_ET_COLLAPSE_H

#include "et/et_graph.h"

typedef enum fd_et_collapse_mode {
    FD_ET_EACH,      /* a box is a node */
    FD_ET_BY_PARENT, /* a name below one box */
    FD_ET_BY_NAME,
    FD_ET_BY_SIZE /* the names with most time, or calls; the others in one */
} fd_et_collapse_mode;

typedef struct fd_et_box {
    uint32_t node; /* the place of its first */
    uint64_t count;
    int64_t ns;  /* of nodes with times, with what they enclose */
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
    uint64_t names;              /* in the box of others */
} fd_et_collapsed;

/* At most `most` boxes, and at least 2. Clear it in any case. */
fd_status fd_et_collapse(fd_et_collapsed *collapsed, const fd_et *et,
                         uint32_t most);
void fd_et_collapsed_clear(fd_et_collapsed *collapsed);

#endif
