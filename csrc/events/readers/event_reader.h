/* The events of a timeline of any format and size (events/event_source.h), and
 * the other members of the top-level object of Chrome JSON.
 *
 * Where the text of Chrome JSON is damaged, reading continues at the next object
 * with a "ph" after "},"; everything between is lost and counted. */
#ifndef FD_EVENT_READER_H
#define FD_EVENT_READER_H

#include "events/event_source.h"
#include "events/merged_ids.h"

typedef enum fd_timeline_item {
    FD_TIMELINE_END,
    FD_TIMELINE_MEMBER, /* `key` and `value` */
    FD_TIMELINE_EVENT   /* `event` */
} fd_timeline_item;

typedef enum fd_timeline_state {
    FD_TIMELINE_AT_START,
    FD_TIMELINE_IN_OBJECT,
    FD_TIMELINE_IN_EVENTS,
    FD_TIMELINE_IN_DAMAGE,
    FD_TIMELINE_AT_END
} fd_timeline_state;

typedef struct fd_timeline_reader {
    fd_bytes_in in; /* Chrome JSON; `read` and `size` are set for any format */
    const fd_timeline_source *source;
    fd_timeline_maker maker; /* owned; for other formats */
    fd_event_batch batch;    /* owned; the items of `maker` */
    fd_scan scan;            /* the current item and its repairs */
    fd_span key;             /* valid with its text until the next item */
    fd_span value;
    fd_timeline_event event;
    fd_buffer rest;     /* owned; members of the event that have no field in
                         * the struct */
    fd_buffer repaired; /* owned; the text of a repaired event */
    uint64_t begin;     /* offset of the item in the content; other formats:
                         * its number */
    uint32_t repairs;   /* before the current item */
    fd_timeline_state state;
    bool bare;           /* the file is an array, not an object */
    bool first;          /* no item of the current object or array was
                          * read yet */
    bool is_event;       /* the last value of the array was an object */
    bool is_trace;       /* an array of events was found */
    fd_status status;    /* FD_ENOMEM after a failed allocation */
    uint64_t lost;       /* number of damaged regions */
    uint64_t lost_bytes; /* bytes in damaged regions */
    uint64_t damage;     /* offset of the current damage */
    char trouble[128];   /* message about the first damage, or "" */
} fd_timeline_reader;

/* Open a file; close the reader also after a failure, and do not move it in
 * memory. FD_EFORMAT: known format, but nothing is readable; `trouble` is the
 * reason, and the error adds the path. */
fd_status fd_timeline_reader_open(fd_timeline_reader *reader, const char *path,
                                  fd_error *error);
void fd_timeline_reader_close(fd_timeline_reader *reader);

fd_timeline_item fd_timeline_reader_next(fd_timeline_reader *reader);

#endif
