#include "base/clock.h"

#include "base/utf8.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXACT_AFTER_NS = 2000000, TRIES = 5 };

bool fd_clock_is_tsc;
static fd_anchor first;

static uint64_t
read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
/* The kernel keeps it as its own clock source only while the counter runs at
 * one rate on all processors. */
static const char counter[] = "tsc\n";
#elif defined(__aarch64__)
static const char counter[] = "arch_sys_counter\n";
#else
static const char counter[] = "";
#endif

static bool
kernel_uses_counter(void)
{
    char name[32] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/"
                       "current_clocksource",
                       "re");
    if (file == NULL) {
        return false;
    }
    bool used = fgets(name, sizeof name, file) != NULL && counter[0] != '\0'
             && strcmp(name, counter) == 0;
    fclose(file);
    return used;
}

/* Return the shortest time of several tries to read a source some times. */
static uint64_t
read_cost(bool tsc)
{
    enum { READS = 16 };
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = read_ns(CLOCK_MONOTONIC);
        for (int k = 0; k < READS; k++) {
            fd_clock_ticks_of(tsc);
        }
        uint64_t ns = read_ns(CLOCK_MONOTONIC) - begin;
        shortest = ns < shortest ? ns : shortest;
    }
    return shortest;
}

/* Reads of the counter may be trapped: by a hypervisor, or, with errata of
 * AArch64, by the kernel. Each takes microseconds then. */
static bool
counter_is_cheaper(void)
{
    return read_cost(true) <= read_cost(false);
}

void
fd_clock_init(void)
{
    fd_clock_is_tsc = kernel_uses_counter() && counter_is_cheaper();
    first = fd_clock_anchor();
}

/* Use the narrowest of several tries: a preempted try reads the clocks at two
 * different times. */
fd_anchor
fd_clock_anchor(void)
{
    fd_anchor best = {0, 0, 0, 0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = fd_clock_ticks();
        fd_anchor anchor = {
            .monotonic_ns = read_ns(CLOCK_MONOTONIC),
            .realtime_ns = read_ns(CLOCK_REALTIME),
            .boottime_ns = read_ns(CLOCK_BOOTTIME),
        };
        uint64_t width = fd_clock_ticks() - before;
        if (width < narrowest) {
            narrowest = width;
            anchor.ticks = before + width / 2;
            best = anchor;
        }
    }
    return best;
}

double
fd_clock_rate(const fd_anchor *from, const fd_anchor *to, double otherwise)
{
    if (to->monotonic_ns < from->monotonic_ns + EXACT_AFTER_NS) {
        return otherwise;
    }
    return (double)(to->ticks - from->ticks) * 1e9
         / (double)(to->monotonic_ns - from->monotonic_ns);
}

double
fd_clock_hertz(void)
{
    if (!fd_clock_is_tsc) {
        return 1e9;
    }
    fd_anchor now = fd_clock_anchor();
    uint64_t passed = now.monotonic_ns - first.monotonic_ns;
    if (passed < EXACT_AFTER_NS) {
        struct timespec rest = {0, (long)(EXACT_AFTER_NS - passed)};
        nanosleep(&rest, NULL);
        now = fd_clock_anchor();
    }
    return fd_clock_rate(&first, &now, 1e9);
}

/* The id has 32 hexadecimal digits and dashes. */
void
fd_clock_identify_boot(uint8_t id[16])
{
    char text[64];
    memset(id, 0, 16);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text);
    uint32_t digits = 0;
    for (ssize_t i = 0; i < size && digits < 32; i++) {
        uint32_t digit = fd_hex_digit(text[i]);
        if (digit < 16) {
            uint8_t *byte = &id[digits++ / 2];
            *byte = (uint8_t)(*byte << 4 | digit);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}
