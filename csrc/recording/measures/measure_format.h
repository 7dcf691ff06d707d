/* The records of measured figures in the recording file:
 * docs/formats/recording.md. */
#ifndef FD_MEASURE_FORMAT_H
#define FD_MEASURE_FORMAT_H

#include "recording/recording_format.h"

/* What a record of a measured figure counts. Readers skip other kinds. */
enum {
    FD_MEASURE_STEPS = 1,       /* steps: ticks; at the root of the thread that
                                   ends them */
    FD_MEASURE_FLOPS = 2,       /* calls: FLOPs; other: bytes of operands */
    FD_MEASURE_ELEMENTWISE = 3, /* the same of element-wise operators */
    FD_MEASURE_UNKNOWN = 4,     /* calls without a formula: 0, and bytes */
    FD_MEASURE_SHAPES = 5,      /* calls with the operands in `detail`: their
                                   elements, and bytes */
    FD_MEASURE_KINDS = 6
};

/* Bits of fd_measure.flags. */
enum {
    FD_MEASURE_GRAD = 1 /* autograd was recording */
};

/* A measured figure of one context. Its owner updates it in place. */
typedef struct fd_measure {
    uint32_t context;
    uint16_t kind;   /* FD_MEASURE_* */
    uint16_t flags;  /* FD_MEASURE_GRAD */
    uint32_t detail; /* string, for kinds that have one */
    uint32_t unused;
    uint64_t count;
    uint64_t sum;
    uint64_t max;   /* of one count */
    uint64_t other; /* a second sum */
    uint64_t unused2[2];
} fd_measure;

static_assert(sizeof(fd_measure) == FD_ID_UNIT, "a measure has an id");

#endif
