#include "recording/steps/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Use system calls directly: open, read and close are cancellation points. */
static long
read_statm(char *text, size_t size)
{
    long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/statm",
                        O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    long count = syscall(SYS_read, file, text, size);
    syscall(SYS_close, file);
    return count;
}

uint64_t
fd_resident_bytes(void)
{
    int before = errno;
    char text[128];
    long count = read_statm(text, sizeof text - 1);
    long page = sysconf(_SC_PAGESIZE);
    errno = before;
    if (count <= 0 || page <= 0) {
        return 0;
    }
    text[count] = '\0';
    char *next;
    strtoull(text, &next, 10); /* skip the size of the address space */
    uint64_t resident = strtoull(next, &next, 10);
    uint64_t shared = strtoull(next, NULL, 10);
    errno = before;
    return resident > shared ? (resident - shared) * (uint64_t)page : 0;
}
