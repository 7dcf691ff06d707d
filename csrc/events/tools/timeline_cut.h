/* A part of a trace by time or by steps (docs/guides/timeline-stats.md). Reads
 * the file three times and stores one bit per event in memory. */
#ifndef FD_TIMELINE_CUT_H
#define FD_TIMELINE_CUT_H

#include "events/readers/event_reader.h"
#include "events/writers/perfetto_counts.h"

/* Values of bounds that are not given. */
#define FD_CUT_FROM_START INT64_MIN
#define FD_CUT_TO_END INT64_MAX

typedef struct fd_cut_request {
    const char *path;
    const char *output;        /* path; a suffix selects native Perfetto */
    const fd_privacy *privacy; /* borrowed; NULL: names are not hidden */
    bool steps; /* the bounds are step numbers; otherwise ns since the start */
    int64_t from; /* inclusive, or FD_CUT_FROM_START */
    int64_t to;   /* exclusive, or FD_CUT_TO_END */
    /* Called from time to time with the number of bytes read and the total;
     * returning false stops it with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_cut_request;

typedef struct fd_cut_result {
    int64_t from_ns; /* of the file's clock */
    int64_t to_ns;
    uint64_t events; /* number of events written */
    uint64_t kept;
    uint64_t rows;       /* number of metadata rows written */
    uint64_t flows_left; /* flow events in the window whose flow continues
                          * outside it */
    uint64_t timeless;   /* events skipped without a time or a ph */
    uint64_t lost;       /* number of damaged regions */
    uint64_t lost_bytes;
    uint64_t repaired;
    fd_perfetto_counts native; /* of a native trace */
    char trouble[128];         /* message about the first damage, or "" */
} fd_cut_result;

/* Cut a trace. FD_EINVAL: no such step, or no event in the window; no file is
 * written. */
fd_status fd_timeline_cut(const fd_cut_request *request, fd_cut_result *cut,
                          fd_error *error);

#endif
