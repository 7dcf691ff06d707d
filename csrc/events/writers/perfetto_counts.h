/* Counts and id counters of the writer of native traces. */
#ifndef FD_PERFETTO_COUNTS_H
#define FD_PERFETTO_COUNTS_H

#include <stdint.h>

typedef struct fd_perfetto_writer fd_perfetto_writer;

/* Numbers of events that were changed or skipped. */
typedef struct fd_perfetto_counts {
    uint64_t aside;   /* overlapping slices, moved to another lane */
    uint64_t crossed; /* slices ended early with the slice around them */
    uint64_t alone;   /* ends without a begin, skipped */
    uint64_t skipped; /* skipped events that have no native form */
    uint64_t early;   /* skipped events before time 0 */
} fd_perfetto_counts;

/* The next unused ids. */
typedef struct fd_perfetto_spare {
    uint32_t track;
    uint32_t sequence;
} fd_perfetto_spare;

#endif
