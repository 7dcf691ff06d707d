/* The slices of a trace, from events X, B with E by thread, b with e by id.
 * Their texts are in tables of bounded size. */
#ifndef FD_SLICE_READER_H
#define FD_SLICE_READER_H

#include "base/map.h"
#include "clocks/clock_fit.h"
#include "events/slice_kinds.h"
#include "events/stats/gpu_facts.h"
#include "events/stats/message_sizes.h"
#include "trace/interned_texts.h"

enum {
    FD_SLICES_NAMES = 1 << 16, /* texts; later ones are all "(other)" */
    FD_SLICES_OPEN = 1 << 18,  /* begun and not ended at one time */
    FD_SLICES_THREADS = 1 << 16
};

#define FD_NO_STEP INT64_MIN

/* Sums and differences of two times within +-146 years of any epoch fit into
 * int64. */
#define FD_SLICES_TIME (INT64_MAX / 2)

typedef struct fd_slice {
    uint64_t place; /* of the event that began it, from 0 on */
    int64_t start;  /* ns, of the file's clock */
    int64_t end;
    int64_t step;     /* a step's own; of a job, what it says; FD_NO_STEP */
    int64_t stage;    /* of a job; FD_NO_STEP */
    uint64_t group;   /* of a collective: hash of all that must be equal */
    uint32_t kind;    /* FD_IS_... */
    uint32_t process; /* number in order of appearance */
    uint32_t thread;  /* the same, over all processes */
    uint32_t cat;     /* in `texts` */
    uint32_t name;
    uint32_t type;      /* of a job */
    uint32_t pg;        /* process group of a collective, as it is named */
    fd_gpu_facts gpu;   /* with `facts`: of kernels, copies, launches */
    fd_message message; /* with `facts`: of communication */
} fd_slice;

typedef struct fd_slice_open {
    fd_slice slice;
    uint64_t key;
    uint32_t
        below; /* the open slice of the key before, + 1; free: next free */
} fd_slice_open;

typedef struct fd_timeline_slices {
    bool facts; /* set by the caller: also read what a slice says about GPUs
                   and communication */
    uint32_t first_process; /* those of the files before */
    uint32_t first_thread;
    fd_text_pool pids;
    fd_text_pool threads; /* of process and tid */
    fd_text_pool texts;
    fd_buffer scratch;
    fd_map last; /* key -> the last open one + 1 */
    FD_VECTOR(fd_slice_open) open;
    uint32_t free; /* + 1 */
    uint32_t open_count;
    uint64_t events;   /* read */
    uint64_t endless;  /* an end without a begin, a begin beyond the bound */
    uint64_t timeless; /* events without a valid ts or dur */
} fd_timeline_slices;

void fd_timeline_slices_clear(fd_timeline_slices *slices);

/* For another file of the same rank: the texts stay, its processes and threads
 * get further numbers. */
void fd_timeline_slices_next(fd_timeline_slices *slices);

/* For one of another rank: processes and threads count from 0 again. */
void fd_timeline_slices_restart(fd_timeline_slices *slices);

/* The process of an event, from 0 on. */
fd_status fd_timeline_slices_process(fd_timeline_slices *slices, fd_span pid,
                                     uint32_t *process);

/* Whether the event is, or ends, a slice. */
fd_status fd_timeline_slices_take(fd_timeline_slices *slices,
                                  const fd_timeline_event *event,
                                  fd_slice *slice, bool *whole);

/* From the file's clock to another; saturates at FD_SLICES_TIME. */
void fd_slice_move(fd_slice *slice, const fd_clock_map *clock);

#endif
