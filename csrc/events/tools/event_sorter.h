/* Any number of records in the order of their keys, in bounded memory: records
 * beyond the budget are in an unnamed temporary file.
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

/* The file is in $TMPDIR, or beside `output` (borrowed) if that is not set. NULL
 * without memory. Records in memory have at most `budget` bytes, except a single
 * larger record. */
fd_sorter *fd_sorter_new(const char *output, size_t budget);
void fd_sorter_free(fd_sorter *sorter);

/* Add a record before the first fd_sorter_next, or after the last one, when the
 * sorter is empty again. */
fd_status fd_sorter_add(fd_sorter *sorter, int64_t key, uint64_t second,
                        const void *bytes, size_t size, fd_error *error);

/* By key, then by `second`, then as added. */
fd_status fd_sorter_next(fd_sorter *sorter, fd_sorted *item, fd_error *error);

#endif
