/* A sliding window over the content of a file of any size, decompressed if it
 * is gzip. Bytes from `at` stay in memory; earlier ones are dropped.
 *
 *     window  [ done | at ... end | room ]
 *
 * A mapping would save one copy but raise SIGBUS when the file shrinks. */
#ifndef FD_INPUT_STREAM_H
#define FD_INPUT_STREAM_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Default limit of the window, for one value; a reader can set another
 * `most`. */
enum { FD_BYTES_IN_MOST = 16 << 20 };

typedef struct fd_unpacking fd_unpacking;

typedef struct fd_bytes_in {
    const char *at;  /* the next byte */
    const char *end; /* end of the content in memory */
    char *window;    /* owned */
    size_t capacity;
    size_t most;     /* limit of the window in bytes */
    uint64_t before; /* content bytes before the window */
    uint64_t read;   /* bytes read from the file; compressed bytes for gzip */
    uint64_t size;   /* file size when it was opened */
    uint64_t unpacked; /* for gzip: bytes of content so far */
    int fd;
    bool ended;
    fd_status status;        /* FD_ENOMEM after a failed allocation; FD_EFORMAT
                              * if gzip data unpacks to far too much, with an
                              * error */
    const char *trouble;     /* reason of an early end of the content; NULL:
                                none */
    fd_unpacking *unpacking; /* owned; NULL: not compressed */
    const char *path;        /* of the caller, as `error` */
    fd_error *error;
} fd_bytes_in;

/* Open a file. Close it in any case, even after a failure. `path` and `error`
 * must live as long. */
fd_status fd_bytes_in_open(fd_bytes_in *in, const char *path, fd_error *error);
void fd_bytes_in_close(fd_bytes_in *in);

/* Read more, keeping the bytes from `at`, which may move. Return false at the
 * end, if the window is full, or if there is no memory. */
bool fd_bytes_in_more(fd_bytes_in *in);

/* Return the offset in the content of a byte in the window. */
static inline uint64_t
fd_bytes_in_offset(const fd_bytes_in *in, const char *at)
{
    return in->before + (uint64_t)(at - in->window);
}

/* Return whether one of several texts (at most 64 bytes each) occurs at or
 * after `at`. Advances until the window contains it, or to the end. */
bool fd_bytes_in_find(fd_bytes_in *in, const char *const *texts, size_t count);

#endif
