/* The format of records of measured figures: docs/formats/recording.md. */
#ifndef FD_MEASURE_FORMAT_H
#define FD_MEASURE_FORMAT_H

#include "recording/recording_format.h"

/* Kinds of measured figures. Readers skip unknown kinds. */
enum {
    FD_MEASURE_STEPS = 1,       /* steps: ticks; at the root of the thread that
                                   ends steps */
    FD_MEASURE_SHAPES = 2,      /* calls with the operands in `detail`: their
                                   elements, and bytes */
    FD_MEASURE_COMM = 3,        /* calls of c10d with the element type and
                                   group in `detail`: bytes sent; other: bytes
                                   received */
    FD_MEASURE_COLLECTIVES = 4, /* at the root of the calling thread: calls of
                                   the group in `detail` */
    FD_MEASURE_LATEST = 5,      /* one of the latest of these calls: its number
                                   in the group, begin, end, larger bytes */
    /* Memory: recording/measures/memory_use.h. `detail` is the device. */
    FD_MEASURE_ALLOCATED = 6,   /* blocks: their bytes; other: see `mark` */
    FD_MEASURE_FREED = 7,       /* as above, for blocks freed by a thread */
    FD_MEASURE_PEAK_FREED = 8,  /* blocks of the peak `mark` that were freed
                                   after it, in the phase `flags` */
    FD_MEASURE_PEAK = 9,        /* step, plus 1, in which a thread raised the
                                   peak last: reserved bytes; max: the peak in
                                   bytes; link: the context */
    FD_MEASURE_KEPT = 10,       /* ends of steps: sum of the live bytes; other,
                                   mark: sums for the slope */
    FD_MEASURE_UNFOLLOWED = 11, /* blocks not tracked for lack of space: their
                                   bytes; other: frees of unknown blocks */
    FD_MEASURE_REFUSED = 12,    /* failed allocations: bytes of the latest one;
                                   max, other: allocated and reserved bytes;
                                   mark: its number; now: step, plus 1 */
    FD_MEASURE_HELD = 13,       /* of readers, from `now` of kind 6: bytes that
                                   were live at that time; max: step, plus 1 */
    FD_MEASURE_KINDS = 14
};

/* Bits of fd_measure.flags. */
enum {
    FD_MEASURE_ASYNC = 2, /* of communication: the caller waits later */
    FD_MEASURE_PART = 4,  /* of shapes: only operators that FLOPs are derived
                             from are recorded */
    FD_MEASURE_OPEN = 8   /* of the latest: the caller is waiting in it */
};

/* A measured figure of one context, updated in place by its owner. */
typedef struct fd_measure {
    uint32_t context;
    uint16_t kind;   /* FD_MEASURE_* */
    uint16_t flags;  /* see above */
    uint32_t detail; /* string, if the kind has one */
    uint32_t link;   /* of memory: a record or context */
    uint64_t count;
    uint64_t sum;
    uint64_t max;   /* largest single value */
    uint64_t other; /* a second sum */
    uint64_t mark;  /* of memory: the peak when the sum last changed; the sum
                       at that peak is `other` */
    uint64_t now;   /* of memory: live bytes at the end of the last step, or
                       at the latest failed allocation */
} fd_measure;

static_assert(sizeof(fd_measure) == FD_ID_UNIT, "a measure has an id");

#endif
