/* The chunks of an open recording: found by chunk_scan.c, searched by
 * file_chunks.c. */
#ifndef FD_CHUNK_LIST_H
#define FD_CHUNK_LIST_H

#include "base/vector.h"
#include "recording/recording_names.h"

#include <stdbool.h>

typedef struct fd_chunk_view {
    fd_chunk header;     /* a copy */
    const void *records; /* a copy; NULL: not read (fd_chunks_events) */
    uint32_t used;       /* number of complete records within the file */
    uint32_t before;     /* number of records of this kind in earlier chunks of
                          * the list */
} fd_chunk_view;

/* The kinds of chunks that are read at once. Events are read chunk by chunk,
 * on request: a timeline can be larger than memory. */
typedef enum fd_chunks_part {
    FD_CHUNKS_FIGURES, /* without the kinds of execution traces */
    FD_CHUNKS_ALL,
    FD_CHUNKS_TOTALS /* threads, totals of contexts, collectives */
} fd_chunks_part;

typedef struct fd_chunks {
    char *base;         /* owned; a copy, each record at its offset; bytes that
                         * were not read are 0 */
    size_t size;        /* of the file; grows while a live one is opened */
    size_t capacity;    /* allocated bytes of `base` */
    int fd;             /* open until the chunks are closed; -1: no file */
    const char *memory; /* borrowed; the source if there is no file */
    fd_chunks_part part;
    fd_writer writer;
    uint32_t damaged;          /* number of pages without a valid chunk */
    bool truncated;            /* the file ends before the end of its last
                                * chunk */
    size_t next;               /* offset at which to search for the next
                                * chunk */
    FD_VECTOR(fd_chunk) found; /* in the order of the file */
    FD_VECTOR(fd_chunk_view) list;
    uint32_t *by_page; /* owned; page -> index in list + 1; 0: no chunk */
    uint32_t counts[FD_CHUNK_SNAPSHOT_THREADS
                    + 1]; /* number of records in the list, by kind */
    char *events;         /* owned; records of the chunk that was requested
                           * last */
    size_t events_room;
} fd_chunks;

static inline const fd_header *
fd_chunks_header(const fd_chunks *chunks)
{
    return (const fd_header *)chunks->base;
}

/* Read the records of a chunk of events, valid until the next call. Return
 * NULL if the writer has refilled the chunk since it was found, or the file
 * was truncated. */
fd_status fd_chunks_events(fd_chunks *chunks, const fd_chunk_view *view,
                           const void **records);

#endif
