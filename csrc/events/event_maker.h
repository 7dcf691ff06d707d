/* The reader of a format other than Chrome JSON. */
#ifndef FD_EVENT_MAKER_H
#define FD_EVENT_MAKER_H

#include "events/event_batch.h"
#include "streams/input_stream.h"

typedef struct fd_timeline_maker {
    void *context; /* owned */
    /* Add the next items; no items: the end. So is a failure: the items are
     * read, the message becomes the reader's `trouble`. */
    fd_status (*fill)(struct fd_timeline_maker *maker, fd_event_batch *batch,
                      fd_error *error); /* NULL: the file is Chrome JSON */
    void (*release)(void *context);
    uint64_t size; /* of the file, before it is opened */
    uint64_t read; /* bytes of it */
    uint64_t lost; /* damaged places, when `fill` failed */
    uint64_t lost_bytes;
} fd_timeline_maker;

#endif
