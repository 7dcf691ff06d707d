#include "recording/thread_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Encoding of the kernel's clock ids of threads: the complement of the thread
 * id, and these bits. pthread_getcpuclockid computes the same number from a
 * pthread_t, which is invalid after the thread has ended. */
enum { ID_SHIFT = 3, PER_THREAD = 4, SCHEDULED = 2 };

enum { GENERATIONS = 4, WORKS_MS = 20, WORKS_BYTES = 1000000 };

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

/* Use system calls directly: open, read and close are cancellation points. */
void
fd_proc_file_read(const char *path, char *text, size_t size)
{
    long count = -1;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        count = syscall(SYS_read, fd, text, size - 1);
        syscall(SYS_close, fd);
    }
    text[count > 0 ? count : 0] = '\0';
}

uint64_t
fd_resident_bytes(void)
{
    int error = errno;
    char text[128];
    uint64_t resident = 0;
    uint64_t shared = 0;
    fd_proc_file_read("/proc/self/statm", text, sizeof text);
    bool known =
        sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) == 2;
    long page = sysconf(_SC_PAGESIZE);
    errno = error;
    return known && page > 0 && resident > shared
             ? (resident - shared) * (uint64_t)page
             : 0;
}

bool
fd_thread_turns_of(uint32_t system_id, fd_thread_turns *turns)
{
    int error = errno;
    char path[64];
    char text[96];
    fd_thread_turns found = {0, 0, 0};
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/schedstat",
             system_id);
    fd_proc_file_read(path, text, sizeof text);
    bool known = sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &found.ran,
                        &found.queued, &found.slices)
                  == 3
              && found.slices > 0;
    if (known) {
        *turns = found;
    }
    errno = error;
    return known;
}

static uint64_t
clock_in_ms(clockid_t clock)
{
    struct timespec time = {0, 0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static uint64_t
usage_in_ms(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
}

/* Return the bytes in the file `io` of a process. */
static uint64_t
bytes_moved(const char *path)
{
    char text[256];
    uint64_t read = 0;
    uint64_t written = 0;
    fd_proc_file_read(path, text, sizeof text);
    return sscanf(text, "rchar: %" SCNu64 " wchar: %" SCNu64, &read, &written)
                == 2
             ? read + written
             : 0;
}

void
fd_process_work_add(fd_process_work *work)
{
    struct rusage ended = {.ru_utime = {0, 0}, .ru_stime = {0, 0}};
    getrusage(RUSAGE_CHILDREN, &ended);
    work->cpu_ms += clock_in_ms(CLOCK_PROCESS_CPUTIME_ID)
                  - clock_in_ms(CLOCK_THREAD_CPUTIME_ID)
                  + usage_in_ms(&ended.ru_utime)
                  + usage_in_ms(&ended.ru_stime);
    work->bytes += bytes_moved("/proc/self/io");
}

/* Return the CPU time of a process and of its ended children. Its name may
 * have spaces and parentheses. */
static uint64_t
cpu_of_process(uint32_t process)
{
    char path[64];
    char text[512];
    uint64_t ticks[4] = {0, 0, 0, 0};
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", process);
    fd_proc_file_read(path, text, sizeof text);
    const char *name_end = strrchr(text, ')');
    if (name_end == NULL
        || sscanf(name_end,
                  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
                  " %" SCNu64 " %" SCNu64 " %" SCNu64,
                  &ticks[0], &ticks[1], &ticks[2], &ticks[3])
               != 4) {
        return 0;
    }
    uint64_t hertz = (uint64_t)sysconf(_SC_CLK_TCK);
    return (ticks[0] + ticks[1] + ticks[2] + ticks[3]) * 1000 / hertz;
}

static void
add_children_of(fd_process_work *work, const char *path, int generations)
{
    char text[1024];
    char child[80];
    fd_proc_file_read(path, text, sizeof text);
    char *end = text;
    for (uint32_t process = (uint32_t)strtoul(text, &end, 10);
         process != 0 && *end == ' ';
         process = (uint32_t)strtoul(end, &end, 10)) {
        work->cpu_ms += cpu_of_process(process);
        snprintf(child, sizeof child, "/proc/%" PRIu32 "/io", process);
        work->bytes += bytes_moved(child);
        if (generations > 1) {
            snprintf(child, sizeof child,
                     "/proc/%" PRIu32 "/task/%" PRIu32 "/children", process,
                     process);
            add_children_of(work, child, generations - 1);
        }
    }
}

void
fd_process_work_add_children(fd_process_work *work, uint32_t system_id)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/children",
             system_id);
    add_children_of(work, path, GENERATIONS);
}

static uint64_t
figure_distance(uint64_t one, uint64_t other)
{
    return one > other ? one - other : other - one;
}

bool
fd_process_worked(const fd_process_work *before, const fd_process_work *after)
{
    /* less than before: a child has ended, and was not waited for */
    return figure_distance(before->cpu_ms, after->cpu_ms) >= WORKS_MS
        || figure_distance(before->bytes, after->bytes) >= WORKS_BYTES;
}
