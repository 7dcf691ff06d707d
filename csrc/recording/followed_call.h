/* Entries of calls in unrecorded steps, with the flags FRAME, CONTRACTED and
 * FOLLOWED, and without PENDING: on the stack of a thread, or found by the
 * watch. They have no context: the code object, the
 * class and the parent identify it. */
#ifndef FD_FOLLOWED_CALL_H
#define FD_FOLLOWED_CALL_H

#include "recording/recording_format.h"

enum {
    FD_FOLLOWED_TICK_BITS = 40,
    FD_FOLLOWED_UNIT_SHIFT = 14,
    /* Bits of the flags from here up: low bits of fd_context.receiver. */
    FD_ENTRY_CLASS_SHIFT = 12,
    FD_ENTRY_ANY_CLASS = 0xfffff
};

/* The start: low bits of the number of the code (fd_context.callee), and of
 * the tick in coarse units. */
#define FD_FOLLOWED(code, tick) \
    ((uint64_t)(code) << FD_FOLLOWED_TICK_BITS \
     | ((tick) >> FD_FOLLOWED_UNIT_SHIFT \
        & ((UINT64_C(1) << FD_FOLLOWED_TICK_BITS) - 1)))

/* Return the tick of a start, given one before it, such as the start of the
 * recording. */
static inline uint64_t
fd_followed_tick(uint64_t start, uint64_t before)
{
    uint64_t units = start - FD_FOLLOWED(0, before);
    units &= (UINT64_C(1) << FD_FOLLOWED_TICK_BITS) - 1;
    return before + (units << FD_FOLLOWED_UNIT_SHIFT);
}

#endif
