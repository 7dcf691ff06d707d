/* The measured figures of one thread: measure_table.h. */
#ifndef FD_MEASURE_ROWS_H
#define FD_MEASURE_ROWS_H

#include "base/alloc.h"
#include "recording/chunk_pool.h"
#include "recording/measures/measure_sites.h"

enum { FD_LATEST_KEPT = 256 };

/* The latest collectives of one group: latest_calls.h. */
typedef struct fd_latest {
    struct fd_latest *next; /* owned */
    uint32_t group;         /* id of the string of the group */
    uint32_t kept;
    uint64_t calls;
    fd_measure *list[FD_LATEST_KEPT];
} fd_latest;

typedef struct fd_measures {
    fd_pool pool; /* pool of fd_measure */
    fd_map index; /* key -> offset in the file / FD_ID_UNIT; UINT32_MAX: no
                     space */
    fd_measure_sites sites; /* used by the writer only */
    fd_map shapes;          /* hash of context and operands -> value as in
                               `index` */
    fd_latest *latest;      /* owned; list with one element per group */
    fd_measure *open;       /* the latest call with FD_MEASURE_OPEN */
    uint64_t communicated;  /* bytes of communication so far */
    uint32_t open_depth;    /* depth of the stack below its caller */
} fd_measures;

static inline void
fd_measures_clear(fd_measures *measures)
{
    fd_map_clear(&measures->index);
    fd_sites_clear(&measures->sites);
    fd_map_clear(&measures->shapes);
    while (measures->latest != NULL) {
        fd_latest *first = measures->latest;
        measures->latest = first->next;
        fd_free(first);
    }
}

#endif
