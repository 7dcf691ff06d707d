/* The numbers that a native trace uses, and what its writer changed. */
#ifndef FD_PERFETTO_COUNTS_H
#define FD_PERFETTO_COUNTS_H

#include <stdint.h>

typedef struct fd_perfetto_writer fd_perfetto_writer;

/* Events of an input that were changed or skipped. */
typedef struct fd_perfetto_counts {
    uint64_t aside;   /* overlapping slices, in a further lane */
    uint64_t crossed; /* slices ended with the one around them */
    uint64_t alone;   /* ends without a begin, skipped */
    uint64_t skipped; /* events that have no native form, skipped */
    uint64_t early;   /* events before time 0, skipped */
    uint64_t others;  /* packets of a native input without events */
} fd_perfetto_counts;

/* The next unused numbers. */
typedef struct fd_perfetto_spare {
    uint32_t track;
    uint32_t sequence;
} fd_perfetto_spare;

#endif
