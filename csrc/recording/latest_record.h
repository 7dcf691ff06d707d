/* Detection of duplicate callbacks. While callbacks are being replaced, an
 * operator record of PyTorch may have the callbacks of both sides, old and
 * new. Both calls for its start then follow each other directly, as do both
 * calls for its end:
 *
 *     start by 0, start by 1 ... end by 0, end by 1
 *
 * An ended record's address is used again, often by the next one. */
#ifndef FD_LATEST_RECORD_H
#define FD_LATEST_RECORD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fd_latest_record {
    const void *begun; /* the record that began, if nothing began or ended
                          since */
    const void *ended; /* the record that ended, if nothing began since */
    uint32_t by;       /* the side that `begun` was reported by */
} fd_latest_record;

/* Note a start reported by one side. Return false if the other side has
 * already reported it. */
static inline bool
fd_latest_record_begins(fd_latest_record *latest, const void *record,
                        uint32_t by)
{
    bool first = latest->begun != record || latest->by == by;
    *latest = (fd_latest_record){first ? record : NULL, NULL, by};
    return first;
}

/* Note an end reported by either side. Return false if it may be the second
 * report for this record. */
static inline bool
fd_latest_record_ends(fd_latest_record *latest, const void *record)
{
    bool first = latest->ended != record;
    *latest = (fd_latest_record){NULL, record, 0};
    return first;
}

#endif
