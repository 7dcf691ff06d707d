/* Snapshots: the state of a recording at the ends of some steps, so that
 * readers can select steps. The ends of steps 1, 2, 3, 4, 6, 8, 12, ... have
 * one: a run of a million steps has 41. The end of the last step has one too,
 * most of which is in the marks of spreads and thread records. */
#ifndef FD_SNAPSHOT_TABLE_H
#define FD_SNAPSHOT_TABLE_H

#include "recording/context_tree.h"

typedef struct fd_snapshots {
    fd_snapshot *records; /* in the file; NULL before the first step end */
    uint32_t count;       /* of them */
    fd_pool figures;
    fd_pool threads;
    bool full;         /* no room: there are no more */
    bool any;          /* one of the present source was taken: */
    uint32_t latest;   /* number of its step, low half */
    uint64_t cpu_read; /* tick of the latest reading of all clocks */
    uint64_t memory;   /* in RAM at this end */
    uint64_t phases[FD_PHASE_SLOTS];
} fd_snapshots;

/* The step has ended, and the spreads have its marks: count it. Under the
 * lock. */
void fd_snapshots_end(fd_snapshots *snapshots, fd_tree *tree,
                      const fd_step *step);

/* Another source of steps starts to count. Under the lock. */
void fd_snapshots_discard(fd_snapshots *snapshots);

#endif
