/* The events of a trace as rows, in file order: for its checks and figures, and
 * for filters of merges. Python pairs begins and ends. */
#ifndef FD_EVENT_ROWS_H
#define FD_EVENT_ROWS_H

#include "events/readers/event_reader.h"
#include "events/recorded/call_flows.h"
#include "events/stats/slice_columns.h"

enum { FD_EVENT_ROWS = 1 << 14 /* maximum of a batch */ };

typedef struct fd_event_rows_request {
    /* Called with rows and all texts so far. Returning false stops it with
     * FD_EINVAL, as for `progress`, which is called from time to time with the
     * number of bytes read and the total. */
    bool (*take)(void *context, const fd_event_row *rows, uint32_t count,
                 const fd_text_pool *texts);
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
    fd_transfers transfers; /* flows of a pipeline, of a recording */
} fd_event_rows_request;

typedef struct fd_event_facts {
    uint64_t events;
    uint64_t lost; /* number of damaged regions */
    uint64_t lost_bytes;
    char trouble[128]; /* message about the first damage, or "" */
} fd_event_facts;

/* Read a file. FD_EFORMAT: it is not a trace. */
fd_status fd_event_rows_read(const char *path,
                             const fd_event_rows_request *request,
                             fd_event_facts *facts, fd_error *error);

#endif
