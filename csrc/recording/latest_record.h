/* The record of PyTorch for which a thread was called last. While callbacks
 * are exchanged, a record may have those of both sides, old and new; their
 * calls for its start follow each other, as do those for its end:
 *
 *     start by 0, start by 1 ... end by 0, end by 1
 *
 * An ended record's address is used again, often by the next one. */
#ifndef FD_LATEST_RECORD_H
#define FD_LATEST_RECORD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fd_latest_record {
    const void *begun; /* without another start or end since; NULL: none */
    const void *ended; /* without another start since */
    uint32_t by;       /* side that began it */
} fd_latest_record;

/* A start by one side. False: the other side has begun this record. */
static inline bool
fd_latest_record_begins(fd_latest_record *latest, const void *record,
                        uint32_t by)
{
    bool first = latest->begun != record || latest->by == by;
    *latest = (fd_latest_record){first ? record : NULL, NULL, by};
    return first;
}

/* An end by any side. False: it may be the second one of this record. */
static inline bool
fd_latest_record_ends(fd_latest_record *latest, const void *record)
{
    bool first = latest->ended != record;
    *latest = (fd_latest_record){NULL, record, 0};
    return first;
}

#endif
