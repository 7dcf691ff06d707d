/* A recording file for reading, checked chunk by chunk. The file is not
 * trusted: its process may be alive and writing, or killed; the file may be
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

#include "trace/reader/chunk_list.h"

/* Return whether these are the first bytes of a recording. */
bool fd_chunks_match(const void *bytes, size_t size);

fd_status fd_chunks_open(fd_chunks *chunks, const char *path,
                         fd_chunks_part part, fd_error *error);

/* Open a recording that this process has in memory. `size` may be its
 * capacity; the header has the size in use. The memory must stay valid while
 * the chunks are open. */
fd_status fd_chunks_view(fd_chunks *chunks, const void *base, size_t size,
                         fd_error *error);
void fd_chunks_close(fd_chunks *chunks);

/* Return the record of an id if it is of this kind and below the use count of
 * a valid chunk, otherwise NULL. */
const void *fd_chunks_record(const fd_chunks *chunks, uint32_t kind,
                             uint32_t id);

/* Return the number of that record among all records of its kind in the order
 * of the list, from 1; 0 if the id is invalid. */
uint32_t fd_chunks_index(const fd_chunks *chunks, uint32_t kind, uint32_t id);

/* Return the string of an id if its bytes lie within the chunk, otherwise
 * NULL. */
const fd_string *fd_chunks_string(const fd_chunks *chunks, uint32_t id);

/* Every chunk of a kind; `view` walks them. Without chunks `list` is NULL, and
 * arithmetic on NULL is undefined. */
#define FOR_EACH_CHUNK_OF(chunks, wanted, view) \
    for (const fd_chunk_view *view = (chunks)->list.list; \
         view != NULL && view < (chunks)->list.list + (chunks)->list.count; \
         view++) \
        if (view->header.kind == (wanted))

/* Every record of a kind. */
#define FOR_EACH_RECORD_OF(chunks, wanted, type, record) \
    FOR_EACH_CHUNK_OF (chunks, wanted, view) \
        for (const type *record = view->records; \
             record < (const type *)view->records + view->used; record++)

#endif
