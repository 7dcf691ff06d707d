/* Any number of records in the order of their keys, in bounded memory: what
 * does not fit waits in a file that has no name any more.
 *
 *     memory  [ bytes ][ bytes ] ...  and  [ entry ][ entry ] ...
 *     file    run: [ head | bytes ][ head | bytes ] ... run: ...
 *
 * Equal keys stay in the order they were added. */
#ifndef FD_EVENT_SORTER_H
#define FD_EVENT_SORTER_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    /* qsort takes up to half as much again for a moment */
    FD_SORTER_BUDGET = 16 << 20,
    FD_SORTER_RUNS = 64 /* merged at a time */
};

typedef struct fd_sorter fd_sorter;

typedef struct fd_sorted {
    int64_t key;
    uint64_t second;
    const char *bytes; /* valid until the next call; NULL: no more */
    uint32_t size;
} fd_sorted;

/* The file lies in $TMPDIR, without one beside `output` (borrowed). NULL
 * without memory. What waits in memory stays within `budget` bytes, apart from
 * a single record that is larger. */
fd_sorter *fd_sorter_new(const char *output, size_t budget);
void fd_sorter_free(fd_sorter *sorter);

/* Not between the first fd_sorter_next and the one that says there is no more;
 * then it is empty again. */
fd_status fd_sorter_add(fd_sorter *sorter, int64_t key, uint64_t second,
                        const void *bytes, size_t size, fd_error *error);

/* By key, then by `second`, then as added. */
fd_status fd_sorter_next(fd_sorter *sorter, fd_sorted *item, fd_error *error);

#endif
