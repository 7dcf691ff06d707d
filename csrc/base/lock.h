/* The lock that shows that the writer of a file is alive: an open file
 * description lock over the entire file. The kernel releases it when the
 * process ends, a reader can query it without locking anything, and closing
 * another descriptor of the same file does not release it (unlike a POSIX lock
 * of the process). A forked child shares the lock until it has closed its
 * copy. */
#ifndef FD_LOCK_H
#define FD_LOCK_H

typedef enum fd_lock_state {
    FD_LOCK_FREE,
    FD_LOCK_HELD,   /* held by another description, in any process */
    FD_LOCK_UNKNOWN /* the file system does not support such locks */
} fd_lock_state;

/* Try to take the lock. FD_LOCK_FREE means that this description has it
 * now. */
fd_lock_state fd_lock_take(int fd);

void fd_lock_release(int fd);

/* Return whether another description holds the lock. The query locks nothing;
 * a read-only descriptor is enough. */
fd_lock_state fd_lock_query(int fd);

#endif
