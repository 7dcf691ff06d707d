/* A thread with a socket, and an eventfd that ends it. A forked child does not
 * have the thread: both descriptors are closed in the child before fork()
 * returns, also if C code forks. */
#ifndef FD_PING_THREAD_H
#define FD_PING_THREAD_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct fd_ping_thread {
    pthread_t thread;
    int socket; /* owned; -1: closed */
    int ends;   /* owned; becomes readable to end the thread */
    bool running;
    struct fd_ping_thread *next; /* the list of all such threads in this
                                  * process */
    struct fd_ping_thread **link;
} fd_ping_thread;

/* Start the thread. The socket is owned; after a failure it is closed. The
 * struct must not move. */
fd_status fd_ping_thread_start(fd_ping_thread *thread, int socket,
                               void *(*run)(void *), void *context,
                               fd_error *error);

/* End the thread, wait for it, close the descriptors. Can be called twice. */
void fd_ping_thread_end(fd_ping_thread *thread);

#endif
