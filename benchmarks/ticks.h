/* The minimum that a recorder of times does at each event: read the clock and
 * charge the difference. */
#ifndef TICKS_H
#define TICKS_H

#include <stdint.h>

static uint64_t last;
static uint64_t charged;

static inline void
charge(void)
{
#if defined(__x86_64__)
    uint64_t now = __builtin_ia32_rdtsc();
    charged += now - last;
    last = now;
#endif
}

#endif
