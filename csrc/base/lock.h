/* The lock by which others see that the writer of a file lives: an open file
 * description lock over the whole file. It goes when its process does, a
 * reader can ask for it without taking anything, and closing another
 * descriptor of the same file does not give it up (as it would a lock of the
 * process). A forked child shares it until it has closed its copy. */
#ifndef FD_LOCK_H
#define FD_LOCK_H

typedef enum fd_lock_state {
    FD_LOCK_FREE,
    FD_LOCK_HELD,   /* by another description, of any process */
    FD_LOCK_UNKNOWN /* this file system has no such locks */
} fd_lock_state;

/* Take the lock without waiting. FREE: it is now this description's. */
fd_lock_state fd_lock_take(int fd);

void fd_lock_release(int fd);

/* Whether another description holds it. Nothing is locked, not for an
 * instant; a descriptor for reading is enough. */
fd_lock_state fd_lock_query(int fd);

#endif
