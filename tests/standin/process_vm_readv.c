/* process_vm_readv of the calling process, for emulators without this system
 * call. A write to a pipe fails for an invalid address as the call does. */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t
process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
                 const struct iovec *remote, unsigned long remotes,
                 unsigned long flags)
{
    int ends[2];
    if (pid != getpid() || locals != 1 || remotes != 1 || flags != 0) {
        errno = EINVAL;
        return -1;
    }
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return -1;
    }
    ssize_t size = write(ends[1], remote->iov_base, remote->iov_len);
    int problem = errno;
    if (size >= 0) {
        size = read(ends[0], local->iov_base, local->iov_len);
    }
    close(ends[0]);
    close(ends[1]);
    errno = problem;
    return size;
}
