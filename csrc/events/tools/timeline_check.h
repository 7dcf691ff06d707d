/* Check of a trace: its faults and their positions. */
#ifndef FD_TIMELINE_CHECK_H
#define FD_TIMELINE_CHECK_H

#include "events/readers/event_reader.h"
#include "events/tools/track_checks.h"

typedef struct fd_check_request {
    uint32_t most_records; /* in memory at a time; 0: FD_TRACKS_RECORDS */
    /* Called from time to time with the number of bytes read and the total;
     * returning false stops it with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_check_request;

typedef struct fd_check {
    fd_faults faults;
    uint64_t events;
    uint64_t lost_bytes; /* bytes in damaged regions */
    /* not checked: docs/formats/timeline.md, "check" */
    uint64_t left_out;
    uint32_t passes;   /* number of times the file was read */
    char trouble[128]; /* message about the first damage, or "" */
} fd_check;

/* Check a file. FD_EFORMAT: it is not a trace. Faults of a trace are results,
 * not failures. */
fd_status fd_timeline_check_file(const char *path,
                                 const fd_check_request *request,
                                 fd_check *check, fd_error *error);

#endif
