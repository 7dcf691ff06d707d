/* Training steps: the figures of each context per step, and a ring of the
 * latest steps. A step that ends takes the recording's lock for about 5 ns per
 * context, so that no tree grows under it. */
#ifndef FD_STEP_TABLE_H
#define FD_STEP_TABLE_H

#include "recording/steps/snapshot_table.h"

typedef struct fd_steps {
    fd_recording *recording; /* borrowed */
    uint64_t begin;          /* tick at which the running step began */
    uint64_t number;         /* number of the running step */
    uint64_t sum;            /* communicated bytes of all threads at the start
                                of the running step */
    uint64_t window;         /* the same at the start of the window */
    /* Figures that are measured. Set by the session. */
    bool communicated;
    uint64_t live; /* live bytes at the end of the running step, plus 1; 0: not
                      measured */
    fd_snapshots snapshots;
} fd_steps;

void fd_steps_init(fd_steps *steps, fd_recording *recording);

/* Begin a window of recorded steps with step `number`. */
void fd_steps_begin(fd_steps *steps, uint64_t number, uint64_t now);

/* End a step on the thread of `tree`, recognized by `source` (FD_STEPS_*). A
 * stronger source than before discards the steps of the weaker one and
 * restarts the count. A weaker one is ignored; return false. */
bool fd_steps_end(fd_steps *steps, fd_tree *tree, uint32_t source);

/* Remove the figures since the last step end from all contexts that were
 * recorded before; those of new ones stay, and are not part of a step. For the
 * part of a step that is not recorded as a whole, which took `part` ticks,
 * while the recording is paused. */
void fd_steps_drop(fd_steps *steps, uint64_t part);

/* Return the number of calls and resumes so far, of all threads. */
uint64_t fd_steps_calls(const fd_steps *steps);

#endif
