/* Faults of a trace, and notes: properties of traces that profilers produce by
 * design. Counts, and the first positions of each kind. */
#ifndef FD_EVENT_FAULTS_H
#define FD_EVENT_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum fd_fault {
    FD_FAULT_DAMAGE,
    FD_FAULT_REPAIR,
    FD_FAULT_BACKSLASH,
    FD_FAULT_EMPTY,
    FD_FAULT_PHASE,
    FD_FAULT_NAME,
    FD_FAULT_PID,
    FD_FAULT_TEXT_ID,
    FD_FAULT_TIME,
    FD_FAULT_NEGATIVE,
    FD_FAULT_FAR,
    FD_FAULT_DURATION,
    FD_FAULT_END_NAME,
    FD_FAULT_END,
    FD_FAULT_BEGIN,
    FD_FAULT_OVERLAP,
    FD_FAULT_PROFILER_OVERLAP,
    FD_FAULT_KERNEL_OVERLAP,
    FD_FAULT_ID,
    FD_FAULT_FLOW_START,
    FD_FAULT_FLOW_END,
    FD_FAULT_FLOW_SLICE,
    FD_FAULT_ASYNC_END,
    FD_FAULT_ASYNC_BEGIN,
    FD_FAULT_COUNTER,
    FD_FAULT_METADATA,
    FD_FAULT_NO_NAME,
    FD_FAULT_TWO_NAMES,
    FD_FAULT_SAME_NAME,
    FD_FAULT_STEPS,
    FD_FAULT_RANKS,
    FD_FAULT_KINDS
} fd_fault;

typedef struct fd_fault_text {
    const char *id;
    bool broken;      /* false: a note, not a fault */
    const char *noun; /* in the singular */
    const char *what; /* the remaining words, singular and plural */
    const char *remedy;
} fd_fault_text;

extern const fd_fault_text fd_fault_texts[FD_FAULT_KINDS];

/* "event without a name" for 1, "events without a name". */
enum { FD_FAULT_TEXT = 96 };
void fd_fault_describe(fd_fault fault, uint64_t count,
                       char text[FD_FAULT_TEXT]);

enum { FD_FAULT_POSITIONS = 3 };

/* The offset of an event in the content, and its number from 1 on; 0: not
 * known for one event. */
typedef struct fd_fault_position {
    uint64_t byte;
    uint64_t event;
} fd_fault_position;

typedef struct fd_faults {
    uint64_t count[FD_FAULT_KINDS];
    /* the first ones, in order */
    fd_fault_position first[FD_FAULT_KINDS][FD_FAULT_POSITIONS];
} fd_faults;

void fd_faults_add(fd_faults *faults, fd_fault fault,
                   fd_fault_position position);

/* Add faults without a position. The count saturates, because a damaged
 * recording can have any number. */
void fd_faults_add_many(fd_faults *faults, fd_fault fault, uint64_t count);

/* Return the number of faults, without notes. */
uint64_t fd_faults_broken(const fd_faults *faults);

#endif
