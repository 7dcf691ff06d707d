/* Time in ticks: the counter of the processor (time-stamp counter of x86-64,
 * virtual counter of AArch64) where the kernel itself uses it, else
 * nanoseconds of CLOCK_MONOTONIC. Reading the time-stamp counter costs 10-14
 * ns on a virtual machine, clock_gettime 30. The counter of AArch64 has 25 MHz
 * to 1 GHz: a short call has 0 or 1 ticks, sums of many are exact.
 *
 * Ticks become nanoseconds through two anchors, each a counter value read
 * together with the kernel's clocks; the further apart they are, the more
 * exact the conversion. */
#ifndef FD_CLOCK_H
#define FD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

typedef struct fd_anchor {
    uint64_t ticks;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC */
    uint64_t realtime_ns;  /* CLOCK_REALTIME, since 1970 */
    uint64_t boottime_ns;  /* CLOCK_BOOTTIME, counts suspended time too */
} fd_anchor;

/* Whether ticks are the processor's counter; set once by fd_clock_init. */
extern bool fd_clock_is_tsc;

/* Choose the source and take the process's first anchor. Call once. */
void fd_clock_init(void);

/* Read all clocks at (nearly) one instant. */
fd_anchor fd_clock_anchor(void);

/* Return the ticks per second from the first anchor until now, exact to 1e-4.
 * Waits up to 2 ms if fd_clock_init was called just before. */
double fd_clock_hertz(void);

/* Store the kernel's boot id: processes with equal ids share CLOCK_MONOTONIC.
 * All 0 if it cannot be read. */
void fd_clock_identify_boot(uint8_t id[16]);

/* Return the ticks per second between two anchors, or `otherwise` if they are
 * too close. */
double fd_clock_rate(const fd_anchor *from, const fd_anchor *to,
                     double otherwise);

/* fd_clock_ticks for callers that already know which source is used. */
static inline uint64_t
fd_clock_ticks_of(bool tsc)
{
#if defined(__x86_64__)
    if (tsc) {
        return __rdtsc();
    }
#elif defined(__aarch64__)
    if (tsc) {
        /* Without an instruction barrier, as rdtsc: the processor may read it
         * some instructions early. */
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#else
    (void)tsc;
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t
fd_clock_ticks(void)
{
    return fd_clock_ticks_of(__builtin_expect(fd_clock_is_tsc, true));
}

#endif
