/* The interface of readers of formats other than Chrome JSON. */
#ifndef FD_EVENT_MAKER_H
#define FD_EVENT_MAKER_H

#include "events/event_batch.h"
#include "streams/input_stream.h"

typedef struct fd_timeline_maker {
    void *context; /* owned */
    /* Add the next items to the batch; an empty batch is the end. A failure
     * ends the file too: items added before it are read, and its message
     * becomes the reader's `trouble`. */
    fd_status (*fill)(struct fd_timeline_maker *maker, fd_event_batch *batch,
                      fd_error *error); /* NULL: the file is Chrome JSON */
    void (*release)(void *context);
    uint64_t size; /* of the file, set before it is opened */
    uint64_t read; /* bytes of the file read so far */
    uint64_t lost; /* number of damaged regions when `fill` failed */
    uint64_t lost_bytes;
} fd_timeline_maker;

#endif
