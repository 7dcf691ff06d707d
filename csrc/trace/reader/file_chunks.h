/* A recording file, checked chunk by chunk, for reading. The file is not
 * trusted: its process may be alive and writing or killed, the file may be
 * truncated, of another program, or rewritten during the reading. Therefore
 * everything is copied into private memory first, then checked, and only the
 * copy is used. The file is not mapped: a truncated mapping raises SIGBUS. No
 * other file is opened.
 *
 * A live writer publishes strings before nodes before contexts before threads.
 * Use counts are read in the opposite order, each kind with the chunks that
 * exist then, so that every referenced record is in the list. */
#ifndef FD_FILE_CHUNKS_H
#define FD_FILE_CHUNKS_H

#include "base/vector.h"
#include "recording/recording_place.h"

#include <stdbool.h>

typedef struct fd_chunk_view {
    fd_chunk header;     /* a copy */
    const void *records; /* a copy; NULL: not read (fd_chunks_events) */
    uint32_t used;       /* records that are whole and within the file */
    uint32_t before;     /* records of this kind in the list before it */
} fd_chunk_view;

/* The kinds that are read at once. Events are read chunk by chunk, on request:
 * a timeline can be larger than memory. */
typedef enum fd_chunks_part {
    FD_CHUNKS_FIGURES, /* all kinds except those of execution traces */
    FD_CHUNKS_ALL
} fd_chunks_part;

typedef struct fd_chunks {
    char *base;         /* owned; a copy, each record at its offset; parts that
                           were not read are 0 */
    size_t size;        /* of the file; grows while a live one is opened */
    size_t room;        /* bytes of `base` */
    int fd;             /* until it is closed; -1 without a file */
    const char *memory; /* borrowed; the source if there is no file */
    fd_chunks_part part;
    fd_writer writer;
    uint32_t damaged;          /* pages without a valid chunk */
    bool truncated;            /* the file ends before its last chunk does */
    bool side;                 /* a side file: nothing in it has an id */
    size_t next;               /* where the next chunk is looked for */
    FD_VECTOR(fd_chunk) found; /* in the order of the file */
    FD_VECTOR(fd_chunk_view) list;
    uint32_t *by_page; /* owned; page -> index in list + 1, 0: none */
    uint32_t counts[FD_CHUNK_SCHEMAS + 1]; /* records in the list, by kind */
    char *events; /* owned; records of the chunk requested last */
    size_t events_room;
} fd_chunks;

/* Whether these are the first bytes of a recording. */
bool fd_chunks_match(const void *bytes, size_t size);

fd_status fd_chunks_open(fd_chunks *chunks, const char *path,
                         fd_chunks_part part, fd_error *error);

/* Whether they are those of a side file, and one opened. */
bool fd_chunks_match_spill(const void *bytes, size_t size);
fd_status fd_chunks_open_spill(fd_chunks *chunks, const char *path,
                               fd_error *error);

/* The same for a recording that this process has in memory; `size` may be its
 * whole capacity; the header has the size in use. The memory must stay while
 * the chunks are open. */
fd_status fd_chunks_view(fd_chunks *chunks, const void *base, size_t size,
                         fd_error *error);
fd_status fd_chunks_view_spill(fd_chunks *chunks, const void *base,
                               size_t size, fd_error *error);
void fd_chunks_close(fd_chunks *chunks);

/* Read the records of a chunk of events; valid until the next call. NULL if
 * the writer has refilled the chunk since it was found, or the file was
 * truncated. */
fd_status fd_chunks_events(fd_chunks *chunks, const fd_chunk_view *view,
                           const void **records);

static inline const fd_header *
fd_chunks_header(const fd_chunks *chunks)
{
    return (const fd_header *)chunks->base;
}

/* The record of an id, when it is one of this kind and below the use count of
 * a good chunk; else NULL. */
const void *fd_chunks_record(const fd_chunks *chunks, uint32_t kind,
                             uint32_t id);

/* The number of that record among all records of its kind in the order of the
 * list, from 1; 0 if the id is not valid. */
uint32_t fd_chunks_place(const fd_chunks *chunks, uint32_t kind, uint32_t id);

/* The same for the string of an id: its bytes lie within the chunk. */
const fd_string *fd_chunks_string(const fd_chunks *chunks, uint32_t id);

#endif
