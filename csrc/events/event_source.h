/* The formats of timelines: the table of readers.
 *
 *     file ── bytes_in (gzip unpacked) ── format? ──┬─ Chrome JSON: scanned
 *                                                   └─ other: batches of
 *                                                      events, by its maker
 *
 * To add a format: a file pair with a function that opens it, and a row in the
 * table in event_source.c. */
#ifndef FD_EVENT_SOURCE_H
#define FD_EVENT_SOURCE_H

#include "events/event_batch.h"
#include "streams/input_stream.h"

/* A reader of a format other than Chrome JSON. */
typedef struct fd_timeline_maker {
    void *context; /* owned */
    /* Add the next items; none: the end. A failure is the end too: the items
     * stay, the message becomes the reader's `trouble`. */
    fd_status (*fill)(struct fd_timeline_maker *maker, fd_event_batch *batch,
                      fd_error *error); /* NULL: the file is Chrome JSON */
    void (*release)(void *context);
    uint64_t size; /* of the file, before it is opened */
    uint64_t read; /* bytes of it */
    uint64_t lost; /* damaged places, when `fill` failed */
    uint64_t lost_bytes;
} fd_timeline_maker;

typedef struct fd_timeline_source {
    const char *name; /* of the format, in messages */
    /* Whether the first bytes of the content, or the name of the file, are of
     * this format. */
    bool (*matches)(const char *path, const char *head, size_t size);
    /* Closes `in`, which is at the begin of the file, or keeps it. NULL: the
     * format is Chrome JSON. FD_EFORMAT: it cannot be read. */
    fd_status (*open)(fd_timeline_maker *maker, fd_bytes_in *in,
                      const char *path, fd_error *error);
} fd_timeline_source;

/* Open `path`; close `in` and `maker` in any case. `*source` is its format:
 * Chrome JSON if no other matches; NULL: it cannot be opened. */
fd_status fd_timeline_source_open(fd_timeline_maker *maker, fd_bytes_in *in,
                                  const char *path,
                                  const fd_timeline_source **source,
                                  fd_error *error);
void fd_timeline_maker_close(fd_timeline_maker *maker);

#endif
