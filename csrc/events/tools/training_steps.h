/* The training steps of a rank: ProfilerStep#N, or else ranges of its program
 * that repeat. */
#ifndef FD_TRAINING_STEPS_H
#define FD_TRAINING_STEPS_H

#include "base/vector.h"
#include "trace/interned_texts.h"

#include <stdbool.h>

typedef struct fd_timeline_step {
    int64_t number;
    int64_t start;
    int64_t end;
    uint32_t process;
    bool gpu;
    bool open; /* it had at most 1 us: its end is not known */
} fd_timeline_step;

typedef FD_VECTOR(fd_timeline_step) fd_timeline_step_list;

/* A slice of category user_annotation, which may be a step. */
typedef struct fd_timeline_range {
    uint32_t rank; /* index */
    uint32_t name; /* without its number */
    uint32_t thread;
    uint32_t process;
    bool optimizer;
    int64_t number; /* -1: the name has none */
    int64_t start;
    int64_t end;
} fd_timeline_range;

/* Sort steps and make them disjoint: a step ends at the start of the next one
 * at the latest. Parts of one step are joined. */
void fd_timeline_steps_tidy(fd_timeline_step_list *steps);

/* Sort by rank, name and thread, for the next function. */
void fd_timeline_ranges_sort(fd_timeline_range *list, uint32_t count);

/* Make steps from the sorted ranges of one rank: they end where optimizers
 * end; otherwise they are annotations that follow each other closely. `*chosen`
 * is one of the ranges, or NULL if there are no steps. `first`: start of the
 * first step that ends with an optimizer. */
fd_status fd_timeline_steps_from_ranges(fd_timeline_range *list,
                                        uint32_t count, int64_t first,
                                        fd_timeline_step_list *steps,
                                        const fd_timeline_range **chosen);

#endif
