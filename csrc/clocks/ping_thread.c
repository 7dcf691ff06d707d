#include "clocks/ping_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* At file scope: fork handlers get no argument. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fd_ping_thread *threads;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static int refusal; /* error of pthread_atfork, or 0 */

static void
close_both(fd_ping_thread *thread)
{
    if (thread->socket >= 0) {
        close(thread->socket);
    }
    if (thread->ends >= 0) {
        close(thread->ends);
    }
    thread->socket = -1;
    thread->ends = -1;
}

static void
before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void
after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void
after_fork_in_child(void)
{
    for (fd_ping_thread *at = threads; at != NULL; at = at->next) {
        at->running = false;
        at->link = NULL;
        close_both(at);
    }
    threads = NULL;
    pthread_mutex_unlock(&lock);
}

static void
prepare_fork(void)
{
    refusal =
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void
list_thread(fd_ping_thread *thread)
{
    pthread_mutex_lock(&lock);
    thread->next = threads;
    thread->link = &threads;
    if (threads != NULL) {
        threads->link = &thread->next;
    }
    threads = thread;
    pthread_mutex_unlock(&lock);
}

/* Remove the thread from the list and close its descriptors under the lock, so
 * that a fork never sees a closed descriptor. */
static void
unlist_thread(fd_ping_thread *thread)
{
    pthread_mutex_lock(&lock);
    if (thread->link != NULL) {
        *thread->link = thread->next;
        if (thread->next != NULL) {
            thread->next->link = thread->link;
        }
        thread->link = NULL;
    }
    close_both(thread);
    pthread_mutex_unlock(&lock);
}

/* Start a thread with all signals blocked. Return 0 or the error. */
static int
start_thread(fd_ping_thread *thread, void *(*run)(void *), void *context)
{
    sigset_t all;
    sigset_t before;
    thread->ends = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (refusal != 0 || thread->ends < 0) {
        return refusal != 0 ? refusal : errno;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int why = pthread_create(&thread->thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    thread->running = why == 0;
    return why;
}

fd_status
fd_ping_thread_start(fd_ping_thread *thread, int socket, void *(*run)(void *),
                     void *context, fd_error *error)
{
    *thread = (fd_ping_thread){.socket = socket, .ends = -1};
    pthread_once(&prepared, prepare_fork);
    list_thread(thread);
    int why = start_thread(thread, run, context);
    if (why != 0) {
        fd_ping_thread_end(thread);
        return fd_fail(error, FD_EIO, "cannot start the thread of pings: %s",
                       strerror(why));
    }
    return FD_OK;
}

void
fd_ping_thread_end(fd_ping_thread *thread)
{
    const uint64_t one = 1;
    if (thread->running) {
        ssize_t written = write(thread->ends, &one, sizeof one);
        (void)written; /* cannot fail: the counter is 0 */
        pthread_join(thread->thread, NULL);
    }
    thread->running = false;
    unlist_thread(thread);
}
