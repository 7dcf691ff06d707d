#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>

static int
change_lock(int fd, int command, struct flock *lock)
{
    int result;
    do {
        result = fcntl(fd, command, lock);
    } while (result < 0 && errno == EINTR);
    return result;
}

fd_lock_state
fd_lock_take(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (change_lock(fd, F_OFD_SETLK, &lock) == 0) {
        return FD_LOCK_FREE;
    }
    return errno == EAGAIN || errno == EACCES ? FD_LOCK_HELD : FD_LOCK_UNKNOWN;
}

void
fd_lock_release(int fd)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    change_lock(fd, F_OFD_SETLK, &lock);
}

/* The query asks about a read lock, which conflicts only with write locks, so
 * that another program's read lock does not make a recording look alive. */
fd_lock_state
fd_lock_query(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (change_lock(fd, F_OFD_GETLK, &lock) != 0) {
        return FD_LOCK_UNKNOWN;
    }
    return lock.l_type == F_UNLCK ? FD_LOCK_FREE : FD_LOCK_HELD;
}
