/* The format of records of measured figures: docs/formats/recording.md. */
#ifndef FD_MEASURE_FORMAT_H
#define FD_MEASURE_FORMAT_H

#include "recording/recording_format.h"

/* Kinds of measured figures. Readers skip unknown kinds. */
enum {
    FD_MEASURE_STEPS = 1,       /* steps: ticks; at the root of the thread that
                                   ends steps */
    FD_MEASURE_FLOPS = 2,       /* calls: FLOPs; other: bytes of operands */
    FD_MEASURE_ELEMENTWISE = 3, /* as above, for element-wise operators */
    FD_MEASURE_UNKNOWN = 4,     /* calls without a formula: 0, and bytes */
    FD_MEASURE_SHAPES = 5,      /* calls with the operands in `detail`: their
                                   elements, and bytes */
    FD_MEASURE_COMM = 6,        /* calls of c10d with the element type and
                                   group in `detail`: bytes sent; other: bytes
                                   received */
    FD_MEASURE_COLLECTIVES = 7, /* at the root of the calling thread: calls of
                                   the group in `detail` */
    FD_MEASURE_LATEST = 8,      /* one of the latest of these calls: its number
                                   in the group, begin, end, larger bytes */
    /* Memory: recording/measures/memory_use.h. `detail` is the device. */
    FD_MEASURE_ALLOCATED = 9,   /* blocks: their bytes; other: see `mark` */
    FD_MEASURE_FREED = 10,      /* as above, for blocks freed by a thread */
    FD_MEASURE_PEAK_FREED = 11, /* blocks of the peak `mark` that were freed
                                   after it, in the phase `flags` */
    FD_MEASURE_PEAK = 12,       /* times that a thread raised the peak; max:
                                   the new peak in bytes; link: the context */
    FD_MEASURE_KEPT = 13,       /* ends of steps: sum of the live bytes; other,
                                   mark: sums for the slope */
    FD_MEASURE_UNFOLLOWED = 14, /* blocks not tracked for lack of space: their
                                   bytes; other: frees of unknown blocks */
    FD_MEASURE_KINDS = 15
};

/* Bits of fd_measure.flags. */
enum {
    FD_MEASURE_GRAD = 1,   /* autograd was recording */
    FD_MEASURE_ASYNC = 2,  /* of communication: the caller waits later */
    FD_MEASURE_CUSTOM = 4, /* of shapes: only operators without a formula are
                              recorded */
    FD_MEASURE_OPEN = 8    /* of the latest: the caller is waiting in it */
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
    uint64_t now;   /* of memory: live bytes at the end of the last step */
} fd_measure;

static_assert(sizeof(fd_measure) == FD_ID_UNIT, "a measure has an id");

#endif
