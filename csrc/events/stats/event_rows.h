/* The events of a trace as rows, in file order: for its checks and figures, and
 * for filters of merges. Python pairs begins and ends. */
#ifndef FD_EVENT_ROWS_H
#define FD_EVENT_ROWS_H

#include "events/readers/event_reader.h"
#include "events/recorded/call_flows.h"
#include "events/stats/slice_columns.h"

enum { FD_EVENT_ROWS = 1 << 14 /* maximum of a batch */ };

/* Receives rows and all texts so far. Returning false stops reading with
 * FD_EINVAL. */
typedef bool fd_rows_take(void *context, const fd_event_row *rows,
                          uint32_t count, const fd_text_pool *texts);

/* Rows that are passed on in batches. */
typedef struct fd_row_batch {
    fd_rows_take *take;
    void *context;
    FD_VECTOR(fd_event_row) rows; /* owned; of the next batch */
    fd_slice_texts texts;         /* owned */
} fd_row_batch;

void fd_row_batch_clear(fd_row_batch *batch);

/* Set phase, times, label and flags, except those of slices and metadata, and
 * what joins the event to others. */
void fd_event_row_place(const fd_timeline_event *event, fd_event_row *row);

/* Add a row, and pass the rows on if they are enough. */
fd_status fd_row_batch_add(fd_row_batch *batch, fd_event_row row,
                           fd_error *error);

/* Pass the rows on. */
fd_status fd_row_batch_give(fd_row_batch *batch, fd_error *error);

typedef struct fd_event_rows_request {
    fd_rows_take *take;
    fd_kind_of_slice *kind_of;
    /* Called from time to time with the number of bytes read and the total, and
     * stops reading as `take`. */
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
