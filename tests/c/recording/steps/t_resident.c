#include "check.h"

#include "recording/steps/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(grows_with_touched_pages)
{
    size_t size = (size_t)64 << 20;
    uint64_t before = fd_resident_bytes();
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    uint64_t reserved = fd_resident_bytes();
    memset(pages, 1, size);
    uint64_t touched = fd_resident_bytes();
    munmap(pages, size);
    CHECK(before > 0);
    CHECK(reserved < before + size / 2);
    CHECK(touched >= reserved + size / 2);
    CHECK(fd_resident_bytes() <= touched - size / 2);
}

TEST(errno_and_files_stay)
{
    int free_before = dup(0);
    close(free_before);
    errno = EDOM;
    fd_resident_bytes();
    EQUAL(errno, EDOM);
    int free_after = dup(0);
    close(free_after);
    EQUAL(free_after, free_before);
}
