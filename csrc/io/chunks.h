/* A recording file, checked chunk by chunk, for reading. The bytes may come
 * from anywhere: a live process that goes on writing, one that was killed, a
 * copy cut short, another program. Nothing outside the file is touched.
 *
 * A writer that goes on publishes strings before nodes before contexts before
 * threads. Use counts are taken the other way round, each kind with the chunks
 * there are by then, so that whatever a record refers to is in the list. */
#ifndef FD_CHUNKS_H
#define FD_CHUNKS_H

#include "base/vector.h"
#include "store/format.h"

#include <stdbool.h>

typedef struct fd_chunk_view {
    const fd_chunk *header; /* in the mapping */
    const void *records;
    uint32_t used; /* records that are whole and within the file */
} fd_chunk_view;

typedef struct fd_chunks {
    const char *base;
    size_t size; /* of the file; grows while a live one is opened */
    size_t room; /* bytes that are mapped */
    int fd;      /* while it is opened; -1 without a file */
    bool mapped; /* base is ours to unmap */
    bool writer_lives;
    uint32_t damaged; /* pages that are no chunk although they should be */
    bool truncated;   /* the file ends before its last chunk does */
    FD_VECTOR(fd_chunk_view) list;
    uint32_t *by_page; /* owned; page -> index in list + 1, 0: none */
} fd_chunks;

/* Whether these are the first bytes of a recording. */
bool fd_chunks_match(const void *bytes, size_t size);

fd_status fd_chunks_open(fd_chunks *chunks, const char *path,
                         fd_error *error);

/* Whether they are those of a side file, and one opened. */
bool fd_chunks_match_spill(const void *bytes, size_t size);
fd_status fd_chunks_open_spill(fd_chunks *chunks, const char *path,
                               fd_error *error);

/* The same for a recording that this process has in memory; `size` may be its
 * whole room, what is in use the header says. */
fd_status fd_chunks_view(fd_chunks *chunks, const void *base, size_t size,
                         fd_error *error);
fd_status fd_chunks_view_spill(fd_chunks *chunks, const void *base,
                               size_t size, fd_error *error);
void fd_chunks_close(fd_chunks *chunks);

static inline const fd_header *
fd_chunks_header(const fd_chunks *chunks)
{
    return (const fd_header *)chunks->base;
}

/* The record of an id, when it is one of this kind and below the use count of
 * a good chunk; else NULL. */
const void *fd_chunks_record(const fd_chunks *chunks, uint32_t kind,
                             uint32_t id);

/* The same for the string of an id: its bytes lie within the chunk. */
const fd_string *fd_chunks_string(const fd_chunks *chunks, uint32_t id);

#endif
