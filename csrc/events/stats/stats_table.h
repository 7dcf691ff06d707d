/* A table of figures by key, in a bounded amount of memory. */
#ifndef FD_STATS_TABLE_H
#define FD_STATS_TABLE_H

#include "base/index.h"
#include "events/stats/duration_digest.h"

enum { FD_TALLY_ROWS = 1 << 16, FD_TALLY_BUCKETS = 1 << 21 };

typedef enum fd_tally_of {
    FD_TALLY_JOB, /* rank, stage, step (FD_NO_STEP: all), name */
    FD_TALLY_NAME /* cat, name; for all ranks together */
} fd_tally_of;

typedef struct fd_tally_key {
    fd_tally_of of;
    uint32_t rank;
    int64_t stage;
    int64_t step;
    uint32_t work; /* of names: kind of GPU work, of the caller */
    uint32_t cat;  /* index of a text of the caller */
    uint32_t name;
} fd_tally_key;

typedef struct fd_tally_row {
    fd_tally_key key;
    fd_digest figures;
} fd_tally_row;

typedef struct fd_tally {
    FD_VECTOR(fd_tally_row) rows;
    fd_index index;
    uint64_t buckets;  /* sum over all rows */
    uint32_t widened;  /* how often all digests were widened */
    uint64_t left_out; /* values skipped: their row is beyond FD_TALLY_ROWS */
} fd_tally;

void fd_tally_clear(fd_tally *tally);
fd_status fd_tally_add(fd_tally *tally, const fd_tally_key *key,
                       uint64_t value);

#endif
