/* One event of a Chrome trace: what of it a merge looks at, and the event with
 * that rewritten. All else is copied as it stands. */
#ifndef FD_CHROME_EVENT_H
#define FD_CHROME_EVENT_H

#include "clocks/clock_fit.h"
#include "events/merged_ids.h"

/* More than one event can have, unless it has a key twice. */
enum { FD_TIMELINE_FIELDS = 12 };

typedef enum fd_timeline_kind {
    FD_TIMELINE_PID,
    FD_TIMELINE_TID,
    FD_TIMELINE_TS,
    FD_TIMELINE_DUR,
    FD_TIMELINE_ID, /* id, id2: of a flow or of an asynchronous event only */
    FD_TIMELINE_BIND_ID, /* always of a flow */
    FD_TIMELINE_NAMED    /* the name */
} fd_timeline_kind;

typedef struct fd_timeline_field {
    fd_timeline_kind kind;
    fd_span value;
} fd_timeline_field;

typedef struct fd_timeline_event {
    fd_span whole; /* with its braces */
    bool empty;
    char phase;   /* 0: no text of one character */
    fd_span name; /* {NULL, NULL}: it has none, as those below */
    fd_span cat;
    fd_span args;
    fd_span ts;
    fd_span dur;
    fd_span pid;
    fd_span tid;
    fd_span scope; /* "s", of an instant */
    fd_span binds; /* "bp" */
    uint32_t count;
    fd_timeline_field
        fields[FD_TIMELINE_FIELDS]; /* in the order of the text */
} fd_timeline_event;

/* Scan one object. Spans point into the text. */
fd_scan_result fd_timeline_event_scan(fd_scan *scan, fd_timeline_event *event);

/* Append ",\n" and the event. A row about the name or place of a process is
 * taken over into `ids` and not written: all have new ones at the end.
 * FD_EFORMAT: its time is none; FD_EFULL: too many processes or threads; both
 * leave `to` as it was. */
fd_status fd_timeline_event_write(const fd_timeline_event *event,
                                  const fd_scan *scan,
                                  const fd_clock_map *clock,
                                  fd_timeline_ids *ids, fd_buffer *to);

/* The process of a row that was left out has no rows. */
fd_status fd_timeline_event_drop(const fd_timeline_event *row,
                                 const fd_scan *scan, fd_timeline_ids *ids);

/* The process of an event, as an index into `ids->processes`; `taken`: it was
 * a row about the process, and is taken over. */
fd_status fd_timeline_event_process(const fd_timeline_event *event,
                                    const fd_scan *scan, fd_timeline_ids *ids,
                                    uint32_t *process, bool *taken);

#endif
