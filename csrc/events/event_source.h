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

#include "events/event_maker.h"

typedef struct fd_timeline_source {
    const char *name; /* name of the format in messages */
    /* Return whether a file has this format, by the first bytes of its content
     * or by its name. */
    bool (*matches)(const char *path, const char *head, size_t size);
    /* Open a file of this format. `in` is at the beginning of the file; the
     * function closes it or keeps it. NULL: the format is Chrome JSON.
     * FD_EFORMAT: the file cannot be read. */
    fd_status (*open)(fd_timeline_maker *maker, fd_bytes_in *in,
                      const char *path, fd_error *error);
} fd_timeline_source;

/* Open `path` and set `*source` to its format: Chrome JSON if no other
 * matches, NULL if the file cannot be opened. Close `in` and `maker` also
 * after a failure. */
fd_status fd_timeline_source_open(fd_timeline_maker *maker, fd_bytes_in *in,
                                  const char *path,
                                  const fd_timeline_source **source,
                                  fd_error *error);
void fd_timeline_maker_close(fd_timeline_maker *maker);

#endif
