/* The bytes of a file of any size, with gzip decompressed, through one window
 * of memory: bytes in use stay, the others are dropped.
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

/* The window grows up to this, for one value; a reader can set another
 * `most`. */
enum { FD_BYTES_IN_MOST = 16 << 20 };

typedef struct fd_unpacking fd_unpacking;

typedef struct fd_bytes_in {
    const char *at;  /* the next byte */
    const char *end; /* of what is in memory */
    char *window;    /* owned */
    size_t room;
    size_t most;     /* bytes of the window */
    uint64_t before; /* bytes of content before the window */
    uint64_t read;   /* bytes of the file, compressed ones for gzip */
    uint64_t size;   /* of the file when it was opened */
    int fd;
    bool ended;
    fd_status status;        /* FD_ENOMEM after a failed allocation */
    const char *trouble;     /* why the content ends early; NULL if not */
    fd_unpacking *unpacking; /* owned; NULL: plain */
} fd_bytes_in;

/* Close it in any case. */
fd_status fd_bytes_in_open(fd_bytes_in *in, const char *path, fd_error *error);
void fd_bytes_in_close(fd_bytes_in *in);

/* Read more and keep the bytes from `at`, which move. False at the end, if the
 * window is full of them, or without memory. */
bool fd_bytes_in_more(fd_bytes_in *in);

/* Continue at an offset of a file that is not compressed. */
fd_status fd_bytes_in_seek(fd_bytes_in *in, uint64_t offset);

/* The offset in the content of a byte of the window. */
static inline uint64_t
fd_bytes_in_offset(const fd_bytes_in *in, const char *at)
{
    return in->before + (uint64_t)(at - in->window);
}

/* Whether one of the texts (each at most 64 bytes) occurs at or after `at`.
 * Advances to it, or to the end. */
bool fd_bytes_in_find(fd_bytes_in *in, const char *const *texts, size_t count);

#endif
