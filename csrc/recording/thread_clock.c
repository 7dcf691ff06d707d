#include "recording/thread_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Encoding of the kernel's clock ids of threads: the complement of the thread
 * id, and these bits. pthread_getcpuclockid computes the same number from a
 * pthread_t, which is invalid after the thread has ended. */
enum { ID_SHIFT = 3, PER_THREAD = 4, SCHEDULED = 2 };

enum { MOST_IDS = 1 << 22 }; /* thread ids of the kernel */

bool
fd_thread_cpu(uint32_t system_id, uint64_t *ns)
{
    int error = errno;
    struct timespec time;
    clockid_t clock = (clockid_t)(~system_id << ID_SHIFT
                                  | (uint32_t)(PER_THREAD | SCHEDULED));
    bool known = system_id != 0 && system_id <= MOST_IDS
              && clock_gettime(clock, &time) == 0;
    if (known) {
        *ns = (uint64_t)time.tv_sec * UINT64_C(1000000000)
            + (uint64_t)time.tv_nsec;
    }
    errno = error;
    return known;
}

bool
fd_thread_turns_of(uint32_t system_id, fd_thread_turns *turns)
{
    int error = errno;
    char path[64];
    char text[96];
    ssize_t size = -1;
    fd_thread_turns found = {0, 0};
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/schedstat",
             system_id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        size = read(fd, text, sizeof text - 1);
        close(fd);
    }
    text[size > 0 ? size : 0] = '\0';
    bool known =
        sscanf(text, "%*u %" SCNu64 " %" SCNu64, &found.queued, &found.slices)
            == 2
        && found.slices > 0;
    if (known) {
        *turns = found;
    }
    errno = error;
    return known;
}
