/* The events of a timeline of any format and size (events/event_source.h), and
 * the other members of the top-level object of Chrome JSON.
 *
 * Where the text of Chrome JSON is damaged, reading continues at the next object
 * with a "ph" after "},"; everything between is lost and counted. */
#ifndef FD_EVENT_READER_H
#define FD_EVENT_READER_H

#include "events/event_source.h"
#include "events/merged_ids.h"
#include "trace/anonymize.h"

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
    fd_bytes_in in; /* of Chrome JSON; `read` and `size` of any */
    const fd_timeline_source *source;
    fd_timeline_maker maker; /* owned; of other formats */
    fd_event_batch batch;    /* owned; of its items */
    fd_scan scan;            /* of the item: its repairs */
    fd_span key;             /* with their text valid until the next item */
    fd_span value;
    fd_timeline_event event;
    fd_buffer rest;     /* owned; members of the event without a field */
    fd_buffer repaired; /* owned; the text of an event with repairs */
    uint64_t begin;     /* of the item in the content; of items that are made
                           their number */
    uint32_t repairs;   /* in the item */
    fd_timeline_state state;
    bool bare;           /* an array without an object around it */
    bool first;          /* no item of this object or array was read */
    bool is_event;       /* the last value of the array was an object */
    bool is_trace;       /* an array of events was found */
    fd_status status;    /* FD_ENOMEM after a failed allocation */
    uint64_t lost;       /* damaged places */
    uint64_t lost_bytes; /* in them */
    uint64_t damage;     /* begin of the current one */
    char trouble[128];   /* the first one, in words; "" */
} fd_timeline_reader;

/* Close it in any case, and do not move it. FD_EFORMAT: known format, but
 * nothing is readable; `trouble` is the reason, the error has the path too.
 * With `privacy` (borrowed; NULL: names stay) only recordings are accepted
 * (FD_EINVAL). */
fd_status fd_timeline_reader_open(fd_timeline_reader *reader, const char *path,
                                  const fd_privacy *privacy, fd_error *error);
void fd_timeline_reader_close(fd_timeline_reader *reader);

fd_timeline_item fd_timeline_reader_next(fd_timeline_reader *reader);

#endif
