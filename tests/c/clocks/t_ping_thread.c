#include "check.h"

#include "clocks/ping_thread.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MANY = 3 };

static void *
wait_for_the_end(void *context)
{
    const fd_ping_thread *thread = context;
    sigset_t blocked;
    struct pollfd polled = {thread->ends, POLLIN, 0};
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    poll(&polled, 1, sigismember(&blocked, SIGINT) ? -1 : 0);
    return NULL;
}

static bool
is_open(int fd)
{
    return fd >= 0 && fcntl(fd, F_GETFD) >= 0;
}

static fd_status
start(fd_ping_thread *thread)
{
    return fd_ping_thread_start(thread,
                                socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
                                wait_for_the_end, thread, NULL);
}

ONCE(starts_and_ends)
{
    fd_ping_thread thread;
    OK(start(&thread));
    int kept[2] = {thread.socket, thread.ends};
    CHECK(is_open(kept[0]) && is_open(kept[1]));
    CHECK((fcntl(kept[1], F_GETFD) & FD_CLOEXEC) != 0);
    fd_ping_thread_end(&thread);
    CHECK(!is_open(kept[0]) && !is_open(kept[1]));
    fd_ping_thread_end(&thread);
}

/* In any order. */
ONCE(several)
{
    static const int orders[][MANY] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
    for (int i = 0; i < MANY; i++) {
        fd_ping_thread threads[MANY];
        for (int k = 0; k < MANY; k++) {
            OK(start(&threads[k]));
        }
        for (int k = 0; k < MANY; k++) {
            fd_ping_thread_end(&threads[orders[i][k]]);
        }
        for (int k = 0; k < MANY; k++) {
            CHECK(!threads[k].running && threads[k].link == NULL);
        }
    }
}
