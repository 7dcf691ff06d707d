/* Snapshots: the state of a recording at the ends of some steps, so that
 * readers can select steps. There is one for the ends of steps 1, 2, 3, 4, 6,
 * 8, 12, ...: 41 in a run of a million steps. The end of the last step has one
 * too; most of it consists of the marks in spreads and thread records. */
#ifndef FD_SNAPSHOT_TABLE_H
#define FD_SNAPSHOT_TABLE_H

#include "recording/context_tree.h"

typedef struct fd_snapshots {
    fd_snapshot *records; /* in the file; NULL before the first step end */
    uint32_t count;       /* number of records */
    fd_pool figures;
    fd_pool threads;
    bool full;         /* no space: no more snapshots */
    bool any;          /* the present source of steps has a snapshot; */
    uint32_t latest;   /* `latest` is the number of its step, low half */
    uint64_t cpu_read; /* tick of the latest reading of all clocks */
    uint64_t memory;   /* bytes in RAM at the end of this step */
    uint64_t queued;   /* ns without a CPU of the thread that ended it */
    uint64_t phases[FD_PHASE_SLOTS];
} fd_snapshots;

/* Count a step that has ended, after the spreads have its marks. The caller
 * holds the lock. */
void fd_snapshots_end(fd_snapshots *snapshots, fd_tree *tree,
                      const fd_step *step);

/* Discard all snapshots, because another source of steps takes over. The
 * caller holds the lock. */
void fd_snapshots_discard(fd_snapshots *snapshots);

#endif
