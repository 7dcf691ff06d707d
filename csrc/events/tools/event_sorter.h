/* External sort of any number of records by key in bounded memory: records
 * beyond the budget are in an unnamed temporary file.
 *
 *     memory  [ bytes ][ bytes ] ...  and  [ entry ][ entry ] ...
 *     file    run: [ head | bytes ][ head | bytes ] ... run: ...
 *
 * Records with equal keys stay in the order they were added. */
#ifndef FD_EVENT_SORTER_H
#define FD_EVENT_SORTER_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    /* qsort may need half as much again temporarily */
    FD_SORTER_BUDGET = 16 << 20,
    FD_SORTER_RUNS = 64 /* merged at a time */
};

typedef struct fd_sorter fd_sorter;

typedef struct fd_sorted {
    int64_t key;
    uint64_t second;
    const char *bytes; /* valid until the next call; NULL: the end */
    uint32_t size;
} fd_sorted;

/* Create a sorter, or return NULL after a failed allocation. The file is in
 * $TMPDIR, or in the folder of `output` (borrowed) if TMPDIR is not set.
 * Records in memory have at most `budget` bytes, except a single larger
 * record. */
fd_sorter *fd_sorter_new(const char *output, size_t budget);
void fd_sorter_free(fd_sorter *sorter);

/* Add a record. Allowed before the first fd_sorter_next, and again when all
 * records were returned. */
fd_status fd_sorter_add(fd_sorter *sorter, int64_t key, uint64_t second,
                        const void *bytes, size_t size, fd_error *error);

/* Return the next record, sorted by key, then by `second`, then in the order
 * added. */
fd_status fd_sorter_next(fd_sorter *sorter, fd_sorted *item, fd_error *error);

#endif
