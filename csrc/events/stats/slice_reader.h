/* The slices of a trace, from events X, pairs B and E by thread, pairs b and e
 * by id. Their texts are stored in tables of bounded size. */
#ifndef FD_SLICE_READER_H
#define FD_SLICE_READER_H

#include "base/map.h"
#include "clocks/clock_map.h"
#include "events/slice_kinds.h"
#include "events/stats/gpu_facts.h"
#include "trace/interned_texts.h"

enum {
    FD_SLICES_NAMES = 1 << 16, /* number of texts; later ones are replaced by
                                * "(other)" */
    FD_SLICES_OPEN = 1 << 18,  /* maximum number of open slices */
    FD_SLICES_THREADS = 1 << 16
};

#define FD_NO_STEP INT64_MIN

/* Sums and differences of two times within +-146 years of any epoch fit into
 * int64. */
#define FD_SLICES_TIME (INT64_MAX / 2)

typedef struct fd_slice {
    uint64_t number; /* number of the event that began it, from 0 on */
    int64_t start;   /* ns, on the clock of the file */
    int64_t end;
    int64_t step;     /* number of a step or at the end of an annotation; step
                       * of a job; else FD_NO_STEP */
    int64_t stage;    /* stage of a job; else FD_NO_STEP */
    uint64_t group;   /* of a collective: hash of all values that must match */
    uint32_t kind;    /* FD_IS_... */
    uint32_t process; /* number in order of first appearance */
    uint32_t thread;  /* number over all processes, in order of first
                       * appearance */
    uint32_t cat;     /* index in `texts` */
    uint32_t name;
    uint32_t type;    /* type of a job, name of an annotation without number */
    uint32_t pg;      /* name of the process group of a collective */
    uint32_t rank;    /* index of its rank, set by the caller */
    fd_gpu_facts gpu; /* with `facts`: arguments of kernels,
                         * copies, launches */
} fd_slice;

typedef struct fd_slice_open {
    fd_slice slice;
    uint64_t key;
    /* index + 1 of the enclosing open slice with the same key; if free, the
     * next free slot */
    uint32_t below;
} fd_slice_open;

typedef struct fd_timeline_slices {
    bool facts; /* set by the caller: also read arguments about GPUs */
    uint32_t first_process; /* number of processes of earlier files */
    uint32_t first_thread;
    fd_text_pool pids;
    fd_text_pool threads;         /* a text is a process and a tid */
    FD_VECTOR(fd_xla_thread) xla; /* of threads, by their names so far */
    fd_text_pool texts;
    fd_buffer scratch;
    fd_map last; /* key -> index + 1 of its innermost open slice */
    FD_VECTOR(fd_slice_open) open;
    uint32_t free; /* index + 1 of the first free slot */
    uint32_t open_count;
    uint64_t events;   /* number of events read */
    uint64_t endless;  /* ends without a begin, and begins beyond the bound */
    uint64_t timeless; /* events without a valid ts or dur */
} fd_timeline_slices;

void fd_timeline_slices_clear(fd_timeline_slices *slices);

/* Prepare for another file of the same rank: keep the texts; number processes
 * and threads after the existing ones. */
void fd_timeline_slices_next(fd_timeline_slices *slices);

/* Prepare for a file of another rank: number processes and threads from 0. */
void fd_timeline_slices_restart(fd_timeline_slices *slices);

/* Find or add the process of an event, numbered from 0. */
fd_status fd_timeline_slices_process(fd_timeline_slices *slices, fd_span pid,
                                     uint32_t *process);

/* Add an event. `*whole`: the event is a complete slice or ends one, which is
 * stored in `slice`. */
fd_status fd_timeline_slices_take(fd_timeline_slices *slices,
                                  const fd_timeline_event *event,
                                  fd_slice *slice, bool *whole);

/* Convert times from the clock of the file to another; saturate at
 * FD_SLICES_TIME. */
void fd_slice_move(fd_slice *slice, const fd_clock_map *clock);

#endif
