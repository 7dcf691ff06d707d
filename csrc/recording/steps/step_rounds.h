/* Rounds of optimizers: which calls of Optimizer.step belong to one iteration
 * of a training. An iteration may have several optimizers, or several calls of
 * one. The owner serialises all calls.
 *
 * A call begins a round if a backward pass ran since the previous call, and
 * its optimizer has stepped in the current round or, if known, the two places
 * in the program cannot be in the same pass of the training loop. A step ends
 * at the return of the optimizer that was last in recent rounds with the same
 * first one. */
#ifndef FD_STEP_ROUNDS_H
#define FD_STEP_ROUNDS_H

#include "base/map.h"

#include <stdbool.h>

enum {
    FD_STEP_SITES = 16,         /* distinguished places of calls */
    FD_NO_SITE = FD_STEP_SITES, /* a place that is not distinguished */
    FD_ROUND_KINDS = 8
};

/* How a call at one place follows a call at another, or at the same. */
typedef enum fd_site_relation {
    FD_SITES_UNKNOWN, /* decided by optimizers only */
    FD_SITES_SAME,    /* may be in the same pass of the training loop */
    FD_SITES_NEXT,    /* always in another pass */
    FD_SITES_NESTED,  /* the place itself, in a loop within that loop, which
                         has a call of another optimizer */
    FD_SITES_UNCLEAR, /* each in another loop */
    /* The place itself: */
    FD_SITES_INNER,    /* in several loops, without a call of another optimizer
                          in the outer ones */
    FD_SITES_INDIRECT, /* in one loop, perhaps called several times in a pass
                          of it */
    FD_SITES_LONG      /* nested, with too many calls for one iteration */
} fd_site_relation;

/* Rounds that begin with the same optimizer. */
typedef struct fd_round_kind {
    uint64_t first;
    uint64_t closing;   /* optimizer whose return ends the step */
    uint64_t candidate; /* optimizer that was last instead */
    uint32_t streak;    /* in this many rounds in a row */
    uint32_t patience;  /* rounds after which it replaces the other */
} fd_round_kind;

/* Calls of the only optimizer, in a loop within a loop, with a pause after
 * each group of the same number of calls: a pass of the outer loop may be the
 * iteration. */
typedef struct fd_call_groups {
    uint64_t began;   /* tick of the latest round */
    double usual;     /* mean ticks of a round without a pause */
    uint32_t calls;   /* since the latest group began */
    uint32_t size;    /* calls of a group; 0: not known */
    uint32_t in_turn; /* latest groups of that size */
} fd_call_groups;

typedef struct fd_rounds {
    fd_map seen;          /* optimizer -> its latest round */
    uint32_t round;       /* 0: before the first call */
    uint32_t optimizers;  /* optimizers in this round */
    uint32_t in_previous; /* and in the previous one */
    uint64_t last;        /* optimizer of the latest call */
    uint32_t last_site;
    uint32_t evaluating; /* bits of places whose optimizers run backward passes
                            (closures) */
    uint32_t repeats; /* latest calls at the same place, each after a backward
                         pass */
    uint32_t same;    /* and of the same optimizer */
    uint32_t joined;  /* optimizers that are in this round although a backward
                         pass preceded them, without evidence of places */
    uint32_t joined_before; /* and in the previous one */
    uint32_t replaced; /* optimizers that new ones replaced after few calls */
    uint32_t first_calls; /* latest calls of optimizers without a round, each
                             after a backward pass */
    fd_round_kind kinds[FD_ROUND_KINDS]; /* the last one is reused */
    fd_round_kind *kind;                 /* of this round */
    bool ended;    /* whether the step of this round has ended */
    bool backward; /* whether a backward pass ran since the latest call */
    bool any_backward;
    uint32_t passes;       /* backward passes since the latest call */
    uint32_t usual_passes; /* before most calls of the only optimizer */
    uint32_t votes;        /* for that number */
    uint32_t in_turn;      /* latest calls with that number */
    fd_call_groups groups;
    uint64_t unclear; /* rounds whose begin or end is in doubt */
    uint64_t callers[FD_STEP_SITES]; /* latest optimizer of each place */
    uint8_t relations[FD_STEP_SITES][FD_STEP_SITES]; /* fd_site_relation */
} fd_rounds;

void fd_rounds_clear(fd_rounds *rounds);

/* Handle the start of a backward pass. */
void fd_rounds_backward(fd_rounds *rounds);

/* Handle the start of a call of an optimizer (not 0) at a place. Return
 * whether a round begins. */
bool fd_rounds_called(fd_rounds *rounds, uint64_t optimizer, uint32_t site);

/* Handle the tick at which the round began. Return the number of calls of the
 * group that ended, or 0. The owner adds it to `unclear`, unless a group is an
 * epoch. */
uint32_t fd_rounds_timed(fd_rounds *rounds, uint64_t tick);

/* Handle its return. Return whether a step ends. */
bool fd_rounds_returned(fd_rounds *rounds, uint64_t optimizer);

/* Return the number of rounds in doubt. Until the second one begins, each
 * optimizer that joined the first may have begun one. */
static inline uint64_t
fd_rounds_unclear(const fd_rounds *rounds)
{
    return rounds->unclear + (rounds->round == 1 ? rounds->joined : 0);
}

/* Return how many backward passes precede each call of the only optimizer; 0:
 * not known, or they differ. */
uint32_t fd_rounds_usual_passes(const fd_rounds *rounds);

/* Return whether a backward pass ran inside a call. */
static inline bool
fd_rounds_has_closures(const fd_rounds *rounds)
{
    return rounds->evaluating != 0;
}

/* Set the relations of the first `sites` places: row by row, from the earlier
 * call to the later. `optimizer` is about to be called at the last one. Return
 * whether the steps so far were parts of iterations. */
bool fd_rounds_relate(fd_rounds *rounds, uint64_t optimizer, uint32_t sites,
                      const uint8_t *relations);

#endif
