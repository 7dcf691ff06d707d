/* What a thread waits for, by its system call: fd_thread_record.waits. */
#ifndef FD_WAIT_KINDS_H
#define FD_WAIT_KINDS_H

enum {
    FD_WAIT_UNKNOWN = 0, /* it runs, or /proc does not show it */
    FD_WAIT_LOCK = 1,    /* a lock, a condition or another thread */
    FD_WAIT_SLEEP = 2,
    FD_WAIT_SOCKET = 3,
    FD_WAIT_PIPE = 4,
    FD_WAIT_FILE = 5,
    FD_WAIT_POLL = 6,  /* poll, select or epoll */
    FD_WAIT_CHILD = 7, /* the end of a process */
    FD_WAIT_OTHER = 8,
    FD_WAIT_KINDS = 9
};

#endif
