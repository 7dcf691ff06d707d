#include "check.h"

#include "base/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static int
open_again(const char *path, int flags)
{
    return open(path, flags | O_CLOEXEC, 0600);
}

TEST(visible_to_other_processes_only)
{
    CLEAN(check_close) int owner = open_again("one", O_RDWR | O_CREAT);
    CLEAN(check_close) int other = open_again("one", O_RDWR);
    CLEAN(check_close) int reader = open_again("one", O_RDONLY);
    CHECK(owner >= 0 && other >= 0 && reader >= 0);
    EQUAL(fd_lock_query(reader), FD_LOCK_FREE);
    EQUAL(fd_lock_take(owner), FD_LOCK_FREE);
    EQUAL(fd_lock_query(reader), FD_LOCK_HELD);
    EQUAL(fd_lock_query(owner), FD_LOCK_FREE);
    EQUAL(fd_lock_take(other), FD_LOCK_HELD);
    fd_lock_release(owner);
    EQUAL(fd_lock_query(reader), FD_LOCK_FREE);
    EQUAL(fd_lock_take(other), FD_LOCK_FREE);
}

/* Locks for reading, also by flock, do not disturb a writer and do not look
 * like one. */
TEST(readers_do_not_disturb_a_writer)
{
    CLEAN(check_close) int owner = open_again("two", O_RDWR | O_CREAT);
    CLEAN(check_close) int reader = open_again("two", O_RDONLY);
    CLEAN(check_close) int third = open_again("two", O_RDONLY);
    EQUAL(flock(reader, LOCK_SH), 0);
    EQUAL(fd_lock_query(third), FD_LOCK_FREE);
    EQUAL(fd_lock_take(owner), FD_LOCK_FREE);
    EQUAL(fd_lock_query(reader), FD_LOCK_HELD);
}

/* A lock per process would be lost here. */
TEST(outlives_another_descriptor)
{
    CLEAN(check_close) int owner = open_again("three", O_RDWR | O_CREAT);
    CLEAN(check_close) int reader = open_again("three", O_RDONLY);
    EQUAL(fd_lock_take(owner), FD_LOCK_FREE);
    close(open_again("three", O_RDWR));
    EQUAL(fd_lock_query(reader), FD_LOCK_HELD);
}

TEST(ends_with_the_process)
{
    CLEAN(check_close) int reader = open_again("four", O_RDWR | O_CREAT);
    int ready[2];
    char byte;
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        int owner = open_again("four", O_RDWR);
        fd_lock_take(owner);
        _exit(write(ready[1], "x", 1) == 1 && read(ready[0], &byte, 0) == 0
                  ? (int)pause()
                  : 1);
    }
    EQUAL(read(ready[0], &byte, 1), 1);
    EQUAL(fd_lock_query(reader), FD_LOCK_HELD);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    EQUAL(fd_lock_query(reader), FD_LOCK_FREE);
    close(ready[0]);
    close(ready[1]);
}

/* The state is unknown if locking fails (here: no file). */
TEST(without_locks)
{
    EQUAL(fd_lock_query(-1), FD_LOCK_UNKNOWN);
    EQUAL(fd_lock_take(-1), FD_LOCK_UNKNOWN);
}
