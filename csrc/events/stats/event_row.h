/* One event of a trace as a row of numbers. Texts are hashes, which only show
 * whether they are equal, or numbers of interned texts. */
#ifndef FD_EVENT_ROW_H
#define FD_EVENT_ROW_H

#include <stdint.h>

/* Properties of an event. Python has the same list. */
enum {
    FD_ROW_EMPTY = 1 << 0,     /* `{}` */
    FD_ROW_NAMED = 1 << 1,     /* the name is a text, and not empty */
    FD_ROW_PID = 1 << 2,       /* has a pid */
    FD_ROW_ODD_ID = 1 << 3,    /* a pid or tid is not a whole number below
                                 * 2^32 */
    FD_ROW_START = 1 << 4,     /* `start` is known */
    FD_ROW_DURATION = 1 << 5,  /* the duration is known and not negative */
    FD_ROW_END = 1 << 6,       /* so is the end */
    FD_ROW_ID = 1 << 7,        /* has an id that joins events */
    FD_ROW_ENCLOSES = 1 << 8,  /* "bp": "e" */
    FD_ROW_COUNTS = 1 << 9,    /* has arguments, all of them numbers */
    FD_ROW_ARGUMENT = 1 << 10, /* metadata: has the required argument */
    FD_ROW_PROCESS = 1 << 11,  /* metadata: the name of a process */
    FD_ROW_STEP = 1 << 12,
    FD_ROW_KERNEL = 1 << 13,
    FD_ROW_PROFILED = 1 << 14, /* of a category of torch.profiler */
    /* Of rows that are not events: */
    FD_ROW_OTHER = 1 << 15,  /* another member of the file */
    FD_ROW_RANK = 1 << 16,   /* an object in the table `ranks` of a merge */
    FD_ROW_NUMBER = 1 << 17, /* `number` is known */
    FD_ROW_IDLE = 1 << 18,   /* a rank without events */
    FD_ROW_DEVICE = 1 << 19, /* work of a device that does not wait */
    FD_ROW_GPU_STEP = 1 << 20,
    FD_ROW_LAUNCH = 1 << 21, /* a call of the GPU runtime */
    FD_ROW_WORK = 1 << 22,   /* a kernel or copy, also of communication */
    FD_ROW_ARROW = 1 << 23,  /* a flow of torch.profiler from launch to work */
    FD_ROW_TIMED = 1 << 24,  /* has a time, known or not */
    FD_ROW_LOSS = 1 << 25    /* an instant: `number` calls were not recorded */
};

/* Kinds of slices of which arguments are read. Python decides on them and has
 * more of them (read/slice_kinds.py). */
enum {
    FD_IS_STEP = 1 << 0,
    FD_IS_GPU_STEP = 1 << 1,
    FD_IS_JOB = 1 << 2,
    FD_IS_COMMUNICATION = 1 << 3,
    FD_IS_KERNEL = 1 << 4,
    FD_IS_COPY = 1 << 5,
    FD_IS_ASYNC = 1 << 9,
    FD_IS_RUNTIME = 1 << 12,
    FD_IS_OPTIMIZER = 1 << 13,
    FD_IS_RANGE = 1 << 14
};

#define FD_NO_STEP INT64_MIN

typedef struct fd_event_row {
    uint64_t byte;   /* where it begins in the content */
    uint64_t event;  /* its number, from 1 on; 0: not an event */
    int64_t start;   /* ns */
    int64_t end;     /* of a complete slice with FD_ROW_END; FD_ROW_RANK: its
                      * damaged regions */
    uint64_t pid;    /* its text; "0" if absent */
    uint64_t thread; /* pid and tid */
    uint64_t track;  /* of a flow or an asynchronous event: what joins it */
    uint64_t number; /* of a step; rank of the process "rank 3 ..."; id plus 1
                      * of a launch and its work, 0: none */
    uint64_t label;  /* its name, or the name of the process; 0: none */
    /* Of begins and complete slices: */
    uint64_t match; /* of a collective: hash of all values that must match */
    int64_t step;   /* number of a step or at the end of an annotation; step of
                     * a job; else FD_NO_STEP */
    int64_t stage;  /* of a job; else FD_NO_STEP */
    int64_t device; /* of a GPU, as `stream`; FD_NO_STREAM: absent */
    int64_t stream;
    uint32_t process; /* of any event: number in order of first appearance */
    uint32_t lane;    /* of ends too: number of the thread among all threads */
    uint32_t kind;    /* FD_IS_... */
    uint32_t category; /* a text; so are the next three */
    uint32_t name;     /* without a duration */
    uint32_t type;  /* type of a job, name of an annotation without number */
    uint32_t group; /* name of the process group of a collective */
    uint32_t rank;  /* set by Python */
    uint32_t flags;
    uint32_t phase;
    uint32_t repairs; /* invalid JSON values */
    uint32_t slashes; /* lone backslashes */
} fd_event_row;

#endif
