/* The inputs and the options of a merge, which Python makes from surveys of the
 * files (read/timeline_inputs.py). */
#ifndef FD_MERGE_REQUEST_H
#define FD_MERGE_REQUEST_H

#include "base/status.h"
#include "clocks/clock_map.h"
#include "events/recorded/call_flows.h"
#include "events/writers/perfetto_packets.h"

#include <stddef.h>

/* An input of a merge. The caller sets the members up to
 * `transfers`, all others are results. Pointers are borrowed. */
typedef struct fd_timeline_input {
    const char *path;
    const char *content; /* the file to read: `path`, or its content as Chrome
                          * JSON */
    const char *label;   /* name of its processes, such as "rank 3 | node7" */
    const char *program; /* the program that wrote the file; "": unknown */
    uint32_t rank;
    uint32_t merged;     /* number of files of a merge; 0: not a merge */
    bool beside;         /* a neighbour in the list has the same rank */
    uint64_t damaged;    /* regions that the conversion lost */
    const char *damage;  /* message about the first one, or NULL */
    fd_rank_clock clock; /* from times of the input to times of the merge */
    const char *kept;    /* a bit per event, whether to copy it, the lowest of
                          * each byte first; NULL: all */
    size_t kept_bytes;
    fd_transfers transfers; /* flows of a pipeline, of a recording */
    bool has_ranks;         /* a merge, whose rows of ranks are kept */
    uint64_t events;
    uint64_t filtered;         /* events that are not copied */
    uint64_t arrows;           /* flows between this and the other input of
                          * its rank */
    uint64_t overlaps;         /* slices dropped by viewers of Chrome JSON */
    uint64_t lost;             /* damaged regions of the file */
    uint64_t lost_bytes;       /* bytes in damaged regions */
    uint64_t repaired;         /* invalid JSON values */
    char trouble[128];         /* message about the first damage, or "" */
    fd_perfetto_counts native; /* counts of a native output */
} fd_timeline_input;

typedef struct fd_timeline_request {
    const char *output;   /* path; a suffix selects native Perfetto */
    bool named_durations; /* add durations to the names of slices */
    bool sorted; /* all events by time; otherwise each file in its own order */
    bool has_base;   /* `base_ns` is known */
    int64_t base_ns; /* real time of time 0, ns since 1970 */
    uint64_t total;  /* bytes of all inputs */
    /* Called from time to time with the number of bytes read and the total;
     * returning false stops the merge with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_timeline_request;

#endif
