/* Whatever holds a timeline, as the text of a Chrome trace: so that ids, names,
 * alignment and what is said of damage are the same for all.
 *
 *     file ── bytes_in (gzip unpacked) ── sniff ──┬─ Chrome JSON: as it is
 *                                                 └─ another: its producer,
 *                                                    which reads those bytes
 *
 * To add one: a file pair with a function that opens it, and a row in the table
 * in source.c. */
#ifndef FD_EVENT_SOURCE_H
#define FD_EVENT_SOURCE_H

#include "streams/input_stream.h"

typedef struct fd_timeline_source {
    const char *name; /* of the format, in messages */
    /* Whether the first bytes of the content (or the name of the file) are of
     * this kind. */
    bool (*matches)(const char *path, const char *head, size_t size);
    /* `in` stands at the begin of the file's bytes and becomes the text: it is
     * moved to where the producer keeps it, or closed. NULL: they are the text.
     * After a failure `in` is closed as ever. FD_EFORMAT: not one that can be
     * read. */
    fd_status (*open)(fd_bytes_in *in, const char *path, fd_error *error);
} fd_timeline_source;

/* Open `path`; close `in` in any case. `*source` is what it turned out to be:
 * Chrome JSON is what nothing else is; NULL: it cannot be opened. */
fd_status fd_timeline_source_open(fd_bytes_in *in, const char *path,
                                  const fd_timeline_source **source,
                                  fd_error *error);

#endif
