/* A trace collapsed to a graph that is small enough to draw. A box contains
 * the calls of one name below one call; if these are too many boxes, all calls
 * of one name. Names beyond the limit share one box. */
#ifndef FD_ET_COLLAPSE_H
#define FD_ET_COLLAPSE_H

#include "et/et_graph.h"

typedef enum fd_et_collapse_mode {
    FD_ET_EACH,      /* a box is a node */
    FD_ET_BY_PARENT, /* one box per name below one box */
    FD_ET_BY_NAME,
    FD_ET_BY_SIZE /* one box per name with the most time or calls, and one for
                   * all other names */
} fd_et_collapse_mode;

typedef struct fd_et_box {
    uint32_t node; /* index of its first node */
    uint64_t count;
    int64_t ns;  /* total time of nodes with times */
    bool others; /* contains several names */
    bool gpu;
} fd_et_box;

typedef struct fd_et_line {
    uint32_t from; /* index of a box */
    uint32_t to;
    uint64_t calls; /* number of nodes of `to` whose parent is in `from` */
    uint64_t counts[FD_ET_KINDS];
} fd_et_line;

typedef struct fd_et_collapsed {
    fd_et_collapse_mode mode;
    FD_VECTOR(fd_et_box) boxes;
    FD_VECTOR(fd_et_line) lines; /* never from a box to itself */
    uint32_t *box_of;            /* owned; index of the box of each node */
    uint64_t names;              /* number of names in the box of other
                                  * names */
} fd_et_collapsed;

/* Build at most `most` boxes, at least 2. Clear the graph also after a
 * failure. */
fd_status fd_et_collapse(fd_et_collapsed *collapsed, const fd_et *et,
                         uint32_t most);
void fd_et_collapsed_clear(fd_et_collapsed *collapsed);

#endif
