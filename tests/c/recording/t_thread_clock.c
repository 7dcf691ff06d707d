#include "check.h"

#include "recording/thread_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t
own_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void *
store_id(void *to)
{
    *(uint32_t *)to = own_id();
    return NULL;
}

TEST(own_time_grows)
{
    uint64_t before = 0;
    uint64_t after = 0;
    CHECK(fd_thread_cpu(own_id(), &before));
    for (volatile int i = 0; i < 1000000; i++) {
    }
    CHECK(fd_thread_cpu(own_id(), &after));
    CHECK(before > 0 && after > before);
}

/* A thread that has ended, and one of no process: no time, and errno stays. */
TEST(ended_threads)
{
    uint32_t id = 0;
    uint64_t ns = 77;
    pthread_t thread;
    EQUAL(pthread_create(&thread, NULL, store_id, &id), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    while (syscall(SYS_tgkill, getpid(), id, 0) == 0) { /* its last moments */
    }
    errno = ENOENT;
    CHECK(!fd_thread_cpu(id, &ns));
    CHECK(!fd_thread_cpu(0, &ns));
    CHECK(!fd_thread_cpu(UINT32_MAX, &ns));
    EQUAL(errno, ENOENT);
    EQUAL(ns, 77);
}

/* A thread that sleeps is scheduled again. */
TEST(turns_of_a_thread)
{
    fd_thread_turns before;
    fd_thread_turns after;
    errno = ENOENT;
    CHECK(!fd_thread_turns_of(0, &before));
    EQUAL(errno, ENOENT);
    if (fd_thread_turns_of(own_id(), &before)) { /* the kernel counts them */
        usleep(1000);
        CHECK(fd_thread_turns_of(own_id(), &after));
        CHECK(after.slices > before.slices);
        CHECK(after.queued >= before.queued);
    }
}

static fd_process_work
work_so_far(void)
{
    fd_process_work work = {0, 0};
    fd_process_work_add(&work);
    fd_process_work_add_children(&work, own_id());
    return work;
}

/* A child that writes, and then waits. */
static pid_t
start_writer(void)
{
    pid_t child = fork();
    if (child == 0) {
        char block[4096] = "";
        int to = open("/dev/null", O_WRONLY);
        for (int i = 0; i < 1000; i++) {
            (void)!write(to, block, sizeof block);
        }
        for (;;) {
            pause();
        }
    }
    return child;
}

/* The bytes that a child writes are work; its end, too. */
TEST(work_of_a_child)
{
    bool counts = access("/proc/self/io", R_OK) == 0;
    fd_process_work before = work_so_far();
    pid_t child = start_writer();
    fd_process_work after = before;
    for (int i = 0; i < 100000 && !fd_process_worked(&before, &after); i++) {
        usleep(100);
        after = work_so_far();
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(!counts || fd_process_worked(&before, &after));
    CHECK(!counts || fd_process_worked(&after, &before));
    CHECK(!fd_process_worked(&before, &before));
}

TEST(resident_bytes_grow_with_touched_pages)
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

TEST(errno_and_files_stay_after_resident_bytes)
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
