/* Where a thread stands. */
#ifndef FD_WAIT_KINDS_H
#define FD_WAIT_KINDS_H

#include <stdint.h>

/* The reason, by its system call: fd_thread_record.waits. */
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
    FD_WAIT_UNSEEN = 9, /* no look at it; only in traces */
    FD_WAIT_KINDS = 10
};

/* The line of an open call of a thread that stands still. */
typedef struct fd_open_line {
    uint32_t thread; /* thread record */
    uint32_t entry;  /* index in its stack */
    uint32_t line;
    uint32_t check; /* FD_OPEN_LINE_CHECK of the entry */
} fd_open_line;

#define FD_OPEN_LINE_CHECK(entry) \
    ((uint32_t)(entry)->owner ^ (uint32_t)(entry)->start)

#endif
